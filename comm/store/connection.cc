#include "comm/store/connection.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <asio/buffer.hpp>
#include <asio/post.hpp>
#include <asio/write.hpp>

#include "base/text.h"
#include "bp/log.h"
#include "comm/store/keepalive.h"

namespace bp {
namespace {

constexpr std::size_t kReadAhead = std::size_t{64} << 10;
constexpr std::size_t kHandshakeAhead = kFrameHeader + kMaxHandshakeBody;
// How long the server handles requests of one connection before it serves the others.
constexpr std::chrono::milliseconds kTurn{1};

}  // namespace

StoreConnection::StoreConnection(Id id,
                                 asio::ip::tcp::socket socket,
                                 const Settings& settings,
                                 Owner& owner)
    : id_(id),
      socket_(std::move(socket)),
      handshake_timer_(socket_.get_executor()),
      settings_(settings),
      owner_(owner),
      handshake_(settings.key, settings.job),
      in_(kHandshakeAhead, '\0') {}

void StoreConnection::start() {
  prepare_store_socket(socket_.native_handle(), settings_.silence);
  handshake_timer_.expires_after(settings_.handshake_timeout);
  handshake_timer_.async_wait([self = shared_from_this()](asio::error_code error) {
    if (!error && !self->admitted_) {
      self->end("it did not finish the handshake in time");
    }
  });
  read();
}

void StoreConnection::read() {
  socket_.async_read_some(
      asio::buffer(in_.data() + in_used_, in_.size() - in_used_),
      [self = shared_from_this()](asio::error_code error, std::size_t size) {
        if (self->state_ >= State::closing) {
          return;
        }
        if (error) {
          self->end(error == asio::error::eof ? "it closed its connection" : error.message());
          return;
        }
        self->heard_ = true;
        self->in_used_ += size;
        self->take_frames();
      });
}

void StoreConnection::take_frames() {
  const auto turn_ends = std::chrono::steady_clock::now() + kTurn;
  FrameView frame;
  while (state_ < State::closing) {
    if (out_.unsent() >= kMaxUnsent) {
      paused_ = true;
      return;
    }
    if (std::chrono::steady_clock::now() >= turn_ends) {
      asio::post(socket_.get_executor(), [self = shared_from_this()] { self->take_frames(); });
      return;
    }
    const FrameLimits limits = admitted_ ? FrameLimits{.body = kMaxStoreBody, .mac = kFrameMac}
                                         : FrameLimits{.body = kMaxHandshakeBody, .mac = 0};
    frame = next_frame(std::string_view(in_).substr(in_taken_, in_used_ - in_taken_), limits);
    if (frame.state == FrameView::State::too_long) {
      end("it sent a frame longer than the limit");
      return;
    }
    if (frame.state == FrameView::State::incomplete) {
      make_room(frame.size);
      read();
      return;
    }
    in_taken_ += frame.size;
    take_frame(frame);
  }
}

void StoreConnection::make_room(std::size_t next_frame) {
  in_used_ -= in_taken_;
  if (in_taken_ > 0) {  // while a large frame arrives in pieces there is nothing to move
    std::copy_n(in_.begin() + static_cast<std::ptrdiff_t>(in_taken_), in_used_, in_.begin());
    in_taken_ = 0;
  }
  // At most twice the bytes that have arrived of the current frame, so a client that announces a
  // large frame and sends little gets little memory.
  in_.resize(
      std::max(admitted_ ? kReadAhead : kHandshakeAhead, std::min(next_frame, 2 * in_used_)));
  if (in_.capacity() > 4 * in_.size()) {
    in_.shrink_to_fit();
  }
}

void StoreConnection::take_frame(const FrameView& frame) {
  switch (state_) {
    case State::greeting:
      take_hello(frame.body);
      break;
    case State::proving:
      take_proof(frame.body);
      break;
    case State::admitted:
      take_message(frame);
      break;
    case State::closing:
    case State::closed:
      break;
  }
}

void StoreConnection::take_hello(std::string_view body) {
  const auto step = handshake_.take_hello(body);
  if (step.refusal) {
    refuse(*step.refusal);
    return;
  }
  if (!step.problem.empty()) {
    end(step.problem);
    return;
  }
  state_ = State::proving;
  out_.push_frame(step.frame);
  start_writing();
}

void StoreConnection::take_proof(std::string_view body) {
  if (const auto step = handshake_.take_proof(body); !step.problem.empty()) {
    end(step.problem);
    return;
  }
  incoming_.emplace(handshake_.session(), FrameDirection::to_server);
  outgoing_.emplace(handshake_.session(), FrameDirection::to_client);
  if (const auto reason = owner_.admit(*this)) {
    refuse(*reason);
    return;
  }
  admitted_ = true;
  state_ = State::admitted;
  handshake_timer_.cancel();
  owner_.joined(*this);
}

void StoreConnection::take_message(const FrameView& frame) {
  if (!incoming_->accept(frame.body, frame.mac)) {
    end("a frame from it was altered, replayed or out of order");
    return;
  }
  auto message = decode_message(frame.body);
  if (!message) {
    end("it sent a malformed message");
    return;
  }
  owner_.received(*this, std::move(*message));
}

void StoreConnection::refuse(StoreRefusal reason) {
  const StoreMessage refusal{.op = StoreOp::refusal, .number = static_cast<std::int64_t>(reason)};
  if (outgoing_) {
    out_.push(refusal);
  } else {
    out_.push_frame(plain_frame(encode_handshake(refusal)));
  }
  start_writing();
  const auto self = shared_from_this();
  owner_.lost(*this, "it was refused");
  close();
}

void StoreConnection::send(StoreMessage message, SharedValue value) {
  if (state_ != State::admitted || overflows_) {
    return;
  }
  out_.push(std::move(message), std::move(value));
  if (out_.held() > kMaxHeld) {
    end_for_unread_messages();
  } else {
    start_writing();
  }
}

void StoreConnection::end_for_unread_messages() {
  overflows_ = true;
  const std::string why = concat("it leaves more than ", kMaxHeld >> 20, " MiB of answers unread");
  log(LogLevel::warn, concat("the store ends its connection to ",
                             rank() < 0 ? "an observer" : concat("rank ", rank()), ": ", why));
  // end() calls the owner, which may be sending to all clients right now; so it is posted.
  asio::post(socket_.get_executor(), [self = shared_from_this(), why] { self->end(why); });
}

void StoreConnection::start_writing() {
  if (std::exchange(writes_, true)) {
    return;
  }
  if (out_.unsent() <= StoreSendQueue::kBatch) {
    write();
  } else {  // sealing a large value takes long, so the others are served before each
    asio::post(socket_.get_executor(), [self = shared_from_this()] { self->write(); });
  }
}

void StoreConnection::write() {
  if (state_ == State::closed) {
    return;
  }
  std::vector<asio::const_buffer> buffers;
  for (const std::string_view bytes : out_.next_batch(outgoing_ ? &*outgoing_ : nullptr)) {
    buffers.emplace_back(bytes.data(), bytes.size());
  }
  asio::async_write(
      socket_, buffers,
      [self = shared_from_this()](asio::error_code error, std::size_t size) -> std::size_t {
        // While a client's requests are paused, its reading is the only heartbeat.
        self->heard_ = self->heard_ || (self->paused_ && size > 0);
        return error ? 0 : StoreSendQueue::kBatch;
      },
      [self = shared_from_this()](asio::error_code error, std::size_t) { self->written(error); });
}

void StoreConnection::written(asio::error_code error) {
  if (state_ == State::closed) {
    return;
  }
  out_.batch_sent();
  if (error) {
    end(error.message());
  } else if (!out_.empty()) {
    write();
  } else if (writes_ = false; state_ == State::closing) {
    close_now();
  }
  if (paused_ && out_.unsent() < kMaxUnsent) {
    paused_ = false;
    take_frames();
  }
}

void StoreConnection::end(const std::string& why) {
  const auto self = shared_from_this();  // lost() releases the owner's pointer
  const bool notify = state_ < State::closing;
  close_now();
  if (notify) {
    owner_.lost(*this, why);
  }
}

void StoreConnection::close() {
  if (state_ >= State::closing) {
    return;
  }
  if (!writes_) {
    close_now();
    return;
  }
  state_ = State::closing;
  asio::error_code ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_receive, ignored);
}

void StoreConnection::close_now() {
  state_ = State::closed;
  handshake_timer_.cancel();
  asio::error_code ignored;
  socket_.close(ignored);
}

}  // namespace bp
