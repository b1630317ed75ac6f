#include "comm/store/client.h"

#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "base/pausable_timeout.h"
#include "base/system/thread.h"
#include "base/text.h"
#include "comm/store/keepalive.h"
#include "comm/store/quote.h"
#include "comm/store/socket.h"

namespace bp {
namespace {

using std::chrono::milliseconds;

// How long the server may take to answer a cancel with the keys that are missing.
constexpr milliseconds kLastAnswer{2'000};
constexpr int kYieldsForAnswer = 100;  // tens of microseconds, if no other thread wants the core
// Longer timeouts are cut to this, because the arithmetic of a steady clock would overflow.
constexpr milliseconds kLongestWait = std::chrono::hours(24 * 365);

}  // namespace

StoreClient::StoreClient(StoreLink link, const StoreClientOptions& options, std::string caller)
    : address_(options.address),
      rank_(options.rank),
      caller_(std::move(caller)),
      answer_within_(options.answer_within),
      socket_(std::move(link.socket)),
      outgoing_(link.session, FrameDirection::to_server),
      incoming_(link.session, FrameDirection::to_client),
      heartbeat_(kLongestWait),
      next_beat_(heartbeat_),
      thread_(start_thread("bp-store-client",
                           [this, received = std::move(link.received)] { read_loop(received); })) {}

StoreClient::~StoreClient() {
  if (!process_.is_here()) {
    thread_.detach();  // it exists in the other process only
    return;
  }
  on_job_failure({});
  ::shutdown(socket_.get(), SHUT_RDWR);  // ends read_loop()
  thread_.join();
}

auto StoreClient::wait_for_admission(const Deadline& deadline) -> Admission {
  std::unique_lock lock(mutex_);
  admission_wake_.wait_until(lock, deadline.at(), [&] {
    return admission_.welcome || admission_.refusal || !lost_.empty();
  });
  admission_.lost = lost_.empty() ? "no answer" : lost_;
  return admission_;
}

Error StoreClient::error(ErrorCode code, const What& what, const std::string& why) const {
  const std::string key = what.key.data() == nullptr ? "" : concat(" ", in_quotes(what.key));
  return {code,
          concat(caller_, ", ", what.verb, key, " at the store ", address_.text(), ": ", why)};
}

void StoreClient::check_not_failed(const What& what) const {
  if (job_failed_) {
    throw error(ErrorCode::aborted, what, concat("the job has failed: ", failure_->text));
  }
}

void StoreClient::check_usable(const What& what) const {
  if (said_goodbye_) {
    throw error(ErrorCode::invalid_argument, what, "called after goodbye()");
  }
  if (!lost_.empty()) {
    throw error(ErrorCode::peer_lost, what,
                concat("the connection is lost (", lost_,
                       job_failed_ ? concat("; before that the job had failed: ", failure_->text)
                                   : "; has bprun ended?",
                       ")"));
  }
}

void StoreClient::send(const StoreMessage& message) noexcept {
  const std::string body = encode_message(message);
  std::string why;
  const std::lock_guard order(send_mutex_);
  if (send_all(socket_.get(), outgoing_.seal(body), Deadline(answer_within_), why)) {
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    send_error_ = why;
  }
  ::shutdown(socket_.get(), SHUT_RDWR);  // read_loop() ends and wakes all callers
}

StoreMessage StoreClient::ask(const What& what,
                              StoreMessage request,
                              std::optional<milliseconds> timeout) {
  process_.refuse_elsewhere(what.verb, "store's client");
  const PausableTimeout limit(timeout ? std::clamp(*timeout, milliseconds{0}, kLongestWait)
                                      : answer_within_);
  const milliseconds last_answer = std::min(kLastAnswer, answer_within_);
  PendingCall call;
  const auto over = [&] {
    return call.answer || !lost_.empty() || said_goodbye_ || (timeout && job_failed_);
  };
  std::unique_lock lock(mutex_);
  if (timeout) {
    check_not_failed(what);
  }
  check_usable(what);
  request.id = next_id_++;
  calls_.emplace(request.id, &call);
  lock.unlock();
  send(request);
  // Most answers arrive within microseconds, and waking a thread takes as long again.
  for (int i = 0; i < kYieldsForAnswer && !call.answered.load(std::memory_order_acquire); ++i) {
    std::this_thread::yield();
  }
  lock.lock();
  if (!wait_with_timeout(call.wake, lock, limit, over) && timeout) {
    lock.unlock();
    send({.op = StoreOp::cancel, .id = request.id});  // the answer lists the missing keys
    lock.lock();
    (void)wait_with_timeout(call.wake, lock, PausableTimeout(last_answer), over);
  }
  calls_.erase(request.id);
  if (!call.answer) {
    if (timeout) {
      check_not_failed(what);
    }
    check_usable(what);
    throw error(ErrorCode::timeout, what,
                concat("timeout", timeout ? concat(" after ", seconds_text(*timeout)) : "",
                       ": the server has not answered for ",
                       seconds_text(timeout ? last_answer : answer_within_),
                       "; is its host overloaded or cut off, or bprun stopped?"));
  }
  if (call.answer->op == StoreOp::rejected) {
    throw error(ErrorCode::invalid_argument, what, call.answer->strings[0]);
  }
  if (timeout && call.answer->op == StoreOp::missing) {
    throw error(ErrorCode::timeout, what,
                concat("timeout after ", seconds_text(*timeout),
                       ", still missing: ", quoted_list(call.answer->strings)));
  }
  return std::move(*call.answer);
}

void StoreClient::read_loop(std::string received) {
  std::string why;
  while (take_frames(received, why)) {
    say_alive_until_readable();
    if (!receive_some(socket_.get(), received, Deadline(kLongestWait), why)) {
      break;
    }
  }
  lose(why);
}

// Sends heartbeats whatever the program's own threads do: only a process that is stopped, or whose
// host hangs, is silent.
void StoreClient::say_alive_until_readable() {
  bool readable = false;
  while (!readable) {
    if (next_beat_.passed()) {
      send({.op = StoreOp::alive});
      next_beat_ = Deadline(heartbeat_);
    }
    readable = is_readable(socket_.get(), next_beat_);
  }
}

bool StoreClient::take_frames(std::string& received, std::string& why) {
  std::size_t taken = 0;
  while (true) {
    const FrameView frame = next_frame(std::string_view(received).substr(taken),
                                       {.body = kMaxStoreBody, .mac = kFrameMac});
    if (frame.state == FrameView::State::incomplete) {
      received.erase(0, taken);
      return true;
    }
    if (frame.state == FrameView::State::too_long || !incoming_.accept(frame.body, frame.mac)) {
      why = "a frame was altered, replayed or out of order";
      return false;
    }
    taken += frame.size;
    auto message = decode_message(frame.body);
    if (!message) {
      why = "the server sent a malformed message";
      return false;
    }
    take(std::move(*message));
  }
}

void StoreClient::take(StoreMessage message) {
  if (message.op == StoreOp::failed) {
    take_failure({.cause = static_cast<int>(message.number), .text = message.strings[0]});
    return;
  }
  const std::lock_guard lock(mutex_);
  switch (message.op) {
    case StoreOp::welcome:
      admission_.welcome = true;
      if (rank_ >= 0 && message.number > 0) {
        heartbeat_ = milliseconds(std::min(message.number, kLongestWait.count() / kBeatsInSilence));
        next_beat_ = Deadline(heartbeat_);
        outlast(heartbeat_ * kBeatsInSilence);
      }
      admission_wake_.notify_all();
      break;
    case StoreOp::refusal:
      admission_.refusal = static_cast<StoreRefusal>(message.number);
      admission_wake_.notify_all();
      break;
    case StoreOp::stop_requested:
      stop_requested_ = true;
      break;
    case StoreOp::joined_survivors:
      // Not left to the caller, because the next failure may arrive before it runs.
      job_failed_ = false;
      failure_.reset();
      follows_ = false;
      [[fallthrough]];
    default:
      if (const auto call = calls_.find(message.id); call != calls_.end()) {
        call->second->answer = std::move(message);
        call->second->answered.store(true, std::memory_order_release);
        call->second->wake.notify_one();  // under the lock, since the PendingCall may end after it
      }
  }
}

// The launcher expects network outages of up to `silence`. Neither the socket nor a call may give
// up earlier.
void StoreClient::outlast(milliseconds silence) {
  if (silence <= kStoreSilence) {
    return;
  }
  prepare_store_socket(socket_.get(), silence);
  if (answer_within_ >= StoreClientOptions{}.answer_within) {
    answer_within_ = std::max(answer_within_, 2 * silence + kLastAnswer);
  }
}

void StoreClient::take_failure(const JobFailure& failure) {
  // From now on this rank acts because of that failure. Sent before the rest of the process is
  // notified, so that the server's owner knows it before this rank can end.
  if (rank_ >= 0 && failure.cause >= 0 && failure.cause != rank_ && !follows_.exchange(true)) {
    send({.op = StoreOp::fail, .number = failure.cause, .strings = {failure.text}});
  }
  std::unique_lock lock(mutex_);
  job_failed_ = true;
  failure_ = failure;
  wake_calls();
  run_listener(lock);
}

void StoreClient::lose(const std::string& why) {
  std::unique_lock lock(mutex_);
  lost_ = send_error_.empty() ? why : send_error_;
  wake_calls();
  admission_wake_.notify_all();
  if (!failure_ && !said_goodbye_) {
    failure_ = JobFailure{.cause = -1,
                          .text = concat(name_of(ErrorCode::peer_lost), ": the job's store ",
                                         address_.text(), " is lost: ", lost_)};
    run_listener(lock);
  }
}

void StoreClient::wake_calls() {
  for (const auto& [id, call] : calls_) {
    call->wake.notify_one();
  }
}

void StoreClient::run_listener(std::unique_lock<std::mutex>& lock) {
  if (!listener_) {
    return;
  }
  const auto listener = listener_;
  const JobFailure failure = *failure_;
  listener_runs_ = true;
  lock.unlock();
  listener(failure);
  lock.lock();
  listener_runs_ = false;
  listener_idle_.notify_all();
}

}  // namespace bp
