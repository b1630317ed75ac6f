#include "comm/store/connection.h"

#include <algorithm>
#include <utility>

#include <asio/buffer.hpp>
#include <asio/post.hpp>
#include <asio/write.hpp>

#include "comm/base/text.h"
#include "comm/store/keepalive.h"

namespace bp {
namespace {

constexpr std::size_t kReadAhead = std::size_t{64} << 10;
constexpr std::size_t kHandshakeAhead = kFrameHeader + kMaxHandshakeBody;

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
  std::size_t taken = 0;
  FrameView frame;
  while (true) {
    const FrameLimits limits = admitted_ ? FrameLimits{.body = kMaxStoreBody, .mac = kFrameMac}
                                         : FrameLimits{.body = kMaxHandshakeBody, .mac = 0};
    frame = next_frame(std::string_view(in_).substr(taken, in_used_ - taken), limits);
    if (frame.state == FrameView::State::too_long) {
      end("it sent a frame longer than the limit");
      return;
    }
    if (frame.state == FrameView::State::incomplete) {
      break;
    }
    taken += frame.size;
    if (!take_frame(frame)) {
      return;
    }
  }
  in_used_ -= taken;
  if (taken > 0) {  // not while a large frame comes in pieces
    std::copy_n(in_.begin() + static_cast<std::ptrdiff_t>(taken), in_used_, in_.begin());
  }
  // Room for the frame that has begun, but no more than twice what has come of it: who announces
  // much and sends little gets little.
  in_.resize(
      std::max(admitted_ ? kReadAhead : kHandshakeAhead, std::min(frame.size, 2 * in_used_)));
  if (in_.capacity() > 4 * in_.size()) {
    in_.shrink_to_fit();
  }
  read();
}

bool StoreConnection::take_frame(const FrameView& frame) {
  switch (state_) {
    case State::greeting:
      return take_hello(frame.body);
    case State::proving:
      return take_proof(frame.body);
    case State::admitted:
      return take_message(frame);
    case State::closing:
    case State::closed:
      break;
  }
  return false;
}

bool StoreConnection::take_hello(std::string_view body) {
  const auto step = handshake_.take_hello(body);
  if (step.refusal) {
    return refuse(*step.refusal);
  }
  if (!step.problem.empty()) {
    return end(step.problem);
  }
  state_ = State::proving;
  queue(step.frame);
  return true;
}

bool StoreConnection::take_proof(std::string_view body) {
  if (const auto step = handshake_.take_proof(body); !step.problem.empty()) {
    return end(step.problem);
  }
  incoming_.emplace(handshake_.session(), FrameDirection::to_server);
  outgoing_.emplace(handshake_.session(), FrameDirection::to_client);
  if (const auto reason = owner_.admit(*this)) {
    return refuse(*reason);
  }
  admitted_ = true;
  state_ = State::admitted;
  handshake_timer_.cancel();
  owner_.joined(*this);
  return state_ == State::admitted;
}

bool StoreConnection::take_message(const FrameView& frame) {
  if (!incoming_->accept(frame.body, frame.mac)) {
    return end("a frame from it was altered, replayed or out of order");
  }
  auto message = decode_message(frame.body);
  if (!message) {
    return end("it sent a malformed message");
  }
  owner_.received(*this, std::move(*message));
  return state_ == State::admitted;
}

bool StoreConnection::refuse(StoreRefusal reason) {
  const StoreMessage refusal{.op = StoreOp::refusal, .number = static_cast<std::int64_t>(reason)};
  queue(outgoing_ ? outgoing_->seal(encode_message(refusal))
                  : plain_frame(encode_handshake(refusal)));
  const auto self = shared_from_this();
  owner_.lost(*this, "it was refused");
  close();
  return false;
}

void StoreConnection::send(const StoreMessage& message) {
  if (state_ == State::admitted) {
    queue(outgoing_->seal(encode_message(message)));
  }
}

void StoreConnection::queue(const std::string& frame) {
  queued_ += frame;
  if (queued_.size() + writing_.size() > kMaxQueued) {
    // Not from here: the owner may be in the middle of sending to everyone.
    asio::post(socket_.get_executor(), [self = shared_from_this()] {
      self->end(concat("it leaves more than ", kMaxQueued >> 20, " MiB of answers unread"));
    });
  } else if (writing_.empty()) {
    write();
  }
}

void StoreConnection::write() {
  writing_.swap(queued_);
  asio::async_write(socket_, asio::buffer(writing_),
                    [self = shared_from_this()](asio::error_code error, std::size_t) {
                      if (self->state_ == State::closed) {
                        return;
                      }
                      self->writing_ = {};
                      if (error) {
                        self->end(error.message());
                      } else if (!self->queued_.empty()) {
                        self->write();
                      } else if (self->state_ == State::closing) {
                        self->close_now();
                      }
                    });
}

bool StoreConnection::end(const std::string& why) {
  const auto self = shared_from_this();  // the owner lets go of it
  const bool tell = state_ < State::closing;
  close_now();
  if (tell) {
    owner_.lost(*this, why);
  }
  return false;
}

void StoreConnection::close() {
  if (state_ >= State::closing) {
    return;
  }
  if (writing_.empty()) {
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
