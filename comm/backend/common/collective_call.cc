#include "comm/backend/common/collective_call.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "comm/device/ask_until.h"
#include "comm/device/device_memory.h"

namespace bp {
namespace {

// Reports a wait for `peer` at its end.
class Waiting {
 public:
  Waiting(CallSupervisor& supervisor, int peer) : supervisor_(supervisor), peer_(peer) {}
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() { supervisor_.waited(peer_, begin_); }

  [[nodiscard]] PausableTimeout::Clock::time_point begin() const { return begin_; }

 private:
  CallSupervisor& supervisor_;
  const int peer_;
  const PausableTimeout::Clock::time_point begin_ = PausableTimeout::Clock::now();
};

}  // namespace

CollectiveCall::CollectiveCall(const CallContext& context) : context_(context) {}

PausableTimeout& CollectiveCall::timeout() {
  if (!timeout_) timeout_.emplace(context_.timeout);
  return *timeout_;
}

std::uint64_t CollectiveCall::next_slot(Posted& posted, int peer, Lane lane) const {
  const auto index = static_cast<std::size_t>(lane);
  if (posted.empty()) posted.resize(context_.members.size());
  return context_.slot + kLanes * posted[static_cast<std::size_t>(peer)][index]++ + index;
}

CollectiveCall::Team::Team(CollectiveCall& call, std::vector<int> members)
    : call_(call), members_(std::move(members)) {
  const auto own = std::ranges::find(members_, call.context_.rank);
  BP_CHECK(call.team_ == nullptr && own != members_.end(), "a team has this rank and others");
  rank_ = static_cast<int>(own - members_.begin());
  call_.team_ = this;
}

CollectiveCall::Message CollectiveCall::receive(int peer, std::span<std::byte> into, Lane lane) {
  peer = in_communicator(peer);
  Message message;
  message.peer_ = peer;
  message.received_ = into.size();
  try {
    message.transfer_ =
        context_.transport->post_receive(world_rank(peer), next_slot(receives_, peer, lane), into);
  } catch (const TransportFailure& why) {
    throw context_.supervisor->failed(*this, peer, why);
  }
  return message;
}

CollectiveCall::Message CollectiveCall::send(int peer, std::span<const std::byte> from, Lane lane) {
  peer = in_communicator(peer);
  Message message;
  message.peer_ = peer;
  try {
    message.transfer_ =
        context_.transport->post_send(world_rank(peer), next_slot(sends_, peer, lane), from);
  } catch (const TransportFailure& why) {
    throw context_.supervisor->failed(*this, peer, why);
  }
  return message;
}

void CollectiveCall::wait(Message& message) {
  if (!message.transfer_) return;
  wait_for_member(message.peer_, [&](const Deadline& deadline, const std::atomic<bool>& stop) {
    return message.transfer_->wait(deadline, stop);
  });
  message.transfer_.reset();
  received_ += message.received_;
}

void CollectiveCall::wait_for(int peer, const Wait& wait, const HasEntered& has_entered) {
  if (team_ == nullptr) has_entered_ = has_entered;
  wait_for_member(in_communicator(peer), wait);
  has_entered_ = nullptr;
}

void CollectiveCall::wait_for_member(int peer, const Wait& wait) {
  try {
    wait_in_slices(peer, wait);
  } catch (const TransportFailure& why) {
    throw context_.supervisor->failed(*this, peer, why);
  }
}

void CollectiveCall::wait_in_slices(int peer, const Wait& wait) {
  CallSupervisor& supervisor = *context_.supervisor;
  const Waiting waiting(supervisor, peer);
  if (!timeout_) timeout_.emplace(context_.timeout, waiting.begin());
  timeout_->look(waiting.begin());
  if (!stall_) stall_.emplace(std::min(context_.stall_after, context_.timeout / 2));
  for (;;) {
    const Deadline slice = timeout_->slice();
    if (wait(stall_->at() < slice.at() ? *stall_ : slice, supervisor.stop())) return;
    if (supervisor.stop().load(std::memory_order_acquire)) throw supervisor.stopped(*this);
    timeout_->look();
    if (timeout_->over()) throw supervisor.timed_out(*this, peer);
    if (stall_->passed()) {
      supervisor.stalled(*this);
      stall_.emplace(context_.stall_after);
    }
  }
}

void CollectiveCall::wait_for_device() {
  if (context_.operation->after) wait_on_device(*context_.operation->after);
}

void CollectiveCall::wait_on_device(const DeviceEvent& event) {
  wait_for_member(context_.rank, [&](const Deadline& deadline, const std::atomic<bool>& stop) {
    return ask_until(deadline, stop, [&] { return event.reached(); });
  });
}

void CollectiveCall::ends_at(std::shared_ptr<const DeviceEvent> end) const {
  if (context_.tell_end != nullptr) (*context_.tell_end)(std::move(end));
}

bool CollectiveCall::hand_over(std::shared_ptr<const DeviceEvent> end) {
  if (context_.handover == nullptr) return false;
  context_.handover->end = std::move(end);
  context_.handover->timeout = timeout();
  return true;
}

void CollectiveCall::keep(std::shared_ptr<const void> memory) const {
  if (context_.handover != nullptr) context_.handover->kept.push_back(std::move(memory));
}

void CollectiveCall::disagree(int peer) {
  constexpr std::chrono::milliseconds kLookAgain{10};
  constexpr std::chrono::milliseconds kShownWithin{5'000};
  CallSupervisor& supervisor = *context_.supervisor;
  const Deadline shown(std::min<std::chrono::milliseconds>(kShownWithin, context_.timeout / 2));
  for (;; std::this_thread::sleep_for(kLookAgain)) {
    supervisor.stalled(*this);  // throws once the peer has shown what it asked for
    if (shown.passed()) {
      // The peer has left that operation, and has begun no other.
      disagree(concat("ranks disagree: rank ", context_.rank, " is in ",
                      describe(*context_.operation), ", and rank ", in_communicator(peer),
                      " was in another operation instead, which it has left (every rank must ask "
                      "for the same collectives in the same order)"));
    }
    if (stop().load(std::memory_order_acquire)) throw supervisor.stopped(*this);
    timeout().look();
    if (timeout().over()) throw supervisor.timed_out(*this, in_communicator(peer));
  }
}

void CollectiveCall::guard(const std::function<void()>& action, int peer) {
  if (peer >= 0) peer = in_communicator(peer);
  try {
    action();
  } catch (const TransportFailure& why) {
    if (stop().load(std::memory_order_acquire)) throw context_.supervisor->stopped(*this);
    if (why.code() == ErrorCode::timeout) throw context_.supervisor->timed_out(*this, peer);
    throw context_.supervisor->failed(*this, peer, why);
  }
}

std::string CollectiveCall::progress() const {
  if (wanted_ == 0) return concat("in ", describe(*context_.operation));
  return concat("after ", received_, " of ", wanted_, " bytes of ", describe(*context_.operation));
}

}  // namespace bp
