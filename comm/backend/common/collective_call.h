// One collective in progress on this rank, as an algorithm sees it: messages to and from the ranks
// of the communicator, all on the collective's own slots. It waits until the collective's deadline,
// counts how many bytes have come, and turns every failure into an Error that says so.
//
// Threads: one at a time.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "base/pausable_timeout.h"
#include "bp/error.h"
#include "comm/backend/common/operation.h"
#include "comm/device/scratch.h"
#include "comm/transport/transport.h"

namespace bp {

class CollectiveCall;

// What the engine does for a call that makes no progress or fails. Each function may wait for the
// store, and for other ranks to write there.
class CallSupervisor {
 public:
  CallSupervisor() = default;
  CallSupervisor(const CallSupervisor&) = delete;
  CallSupervisor& operator=(const CallSupervisor&) = delete;
  virtual ~CallSupervisor() = default;

  // Set when the call must end.
  [[nodiscard]] virtual const std::atomic<bool>& stop() const = 0;
  // The call has made no progress for a stall. Throws if the ranks are in different collectives.
  virtual void stalled(CollectiveCall& call) = 0;
  // The ranks disagree, as `text` says. Returns what all of them throw.
  [[nodiscard]] virtual Error mismatched(const std::string& text) = 0;
  // Each returns what to throw when ... (peer -1: an unknown one)
  [[nodiscard]] virtual Error stopped(const CollectiveCall& call) = 0;
  [[nodiscard]] virtual Error timed_out(const CollectiveCall& call, int peer) = 0;
  [[nodiscard]] virtual Error failed(const CollectiveCall& call,
                                     int peer,
                                     const TransportFailure& why) = 0;
  // A wait for `peer`, which began at `since`, is over.
  virtual void waited(int peer, std::chrono::steady_clock::time_point since) = 0;
};

// What the flight recorder keeps of a call.
struct CallRecord {
  std::string_view algorithm = {};     // a constant
  std::chrono::nanoseconds waited{0};  // for other ranks
};

// An operation that a backend has left running on its device.
struct Handover {
  std::shared_ptr<const DeviceEvent> end;         // throws what goes wrong; null: not handed over
  std::vector<std::shared_ptr<const void>> kept;  // memory that it uses
  std::optional<PausableTimeout> timeout;         // of the call
};

struct CallContext {
  Transport* transport = nullptr;
  CallSupervisor* supervisor = nullptr;
  ScratchMemory* scratch = nullptr;
  CallRecord* record = nullptr;
  std::span<const int> members;  // transport ranks, by rank in the communicator
  int rank = 0;                  // in the communicator
  std::uint64_t slot = 0;        // the first slot of this collective
  std::uint64_t sequence = 0;    // the number of collectives before this one
  const Operation* operation = nullptr;
  std::chrono::milliseconds timeout{0};      // from the first wait; see PausableTimeout
  std::chrono::milliseconds stall_after{0};  // when, and how often, a wait calls stalled()
  // Gets the end of an operation that is on its device; see CollectiveCall::ends_at().
  const std::function<void(std::shared_ptr<const DeviceEvent>)>* tell_end = nullptr;
  Handover* handover = nullptr;  // null: a backend must wait for the end itself
};

// Both ends number the messages of a pair of ranks, by lane: the first send on a lane goes to the
// first receive on it. The two ends may post different lanes in different orders.
enum class Lane : std::uint64_t { data, second, barrier };
inline constexpr std::size_t kLanes = 3;

class CollectiveCall {
 public:
  // A message in flight. Its destruction abandons it.
  class Message {
   private:
    friend class CollectiveCall;
    std::unique_ptr<Transfer> transfer_;
    int peer_ = -1;             // in the communicator
    std::size_t received_ = 0;  // the bytes that it adds to received() when it is complete
  };

  // `context` must outlive this object.
  explicit CollectiveCall(const CallContext& context);
  explicit CollectiveCall(CallContext&&) = delete;

  // While a Team exists, the call is restricted to `members`: ranks of the communicator, ascending,
  // with this rank. rank(), size() and every peer then count within the team. A call has at most
  // one team at a time.
  class Team {
   public:
    Team(CollectiveCall& call, std::vector<int> members);
    ~Team() { call_.team_ = nullptr; }
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

   private:
    friend class CollectiveCall;
    CollectiveCall& call_;
    const std::vector<int> members_;
    int rank_ = 0;
  };

  [[nodiscard]] int rank() const { return team_ == nullptr ? context_.rank : team_->rank_; }
  [[nodiscard]] int size() const {
    return static_cast<int>(team_ == nullptr ? context_.members.size() : team_->members_.size());
  }

  // An algorithm should post a receive before the peer's send. All throw Error.
  [[nodiscard]] Message receive(int peer, std::span<std::byte> into, Lane lane = Lane::data);
  [[nodiscard]] Message send(int peer, std::span<const std::byte> from, Lane lane = Lane::data);
  void wait(Message& message);  // returns at once if it is complete or was never posted

  // Waits for `peer` in another way than by a message: `wait` is like Transfer::wait(). Meanwhile
  // `has_entered` says which ranks have begun the operation; some of them may have left it already.
  using Wait = std::function<bool(const Deadline& deadline, const std::atomic<bool>& stop)>;
  using HasEntered = std::function<bool(int peer)>;
  void wait_for(int peer, const Wait& wait, const HasEntered& has_entered = {});
  // Waits for the work that this rank's stream had before the operation. A stream may hold any
  // amount of work, and work that waits for ever.
  void wait_for_device();
  // Waits for work of this rank's device that depends on no other rank.
  void wait_on_device(const DeviceEvent& event);
  // Tells the engine that all work of the operation is enqueued on the device and ends at `end`.
  // The caller must still wait for that, or hand the operation over.
  void ends_at(std::shared_ptr<const DeviceEvent> end) const;
  // Lets the engine wait for the end of the operation: until end->reached() returns true, or throws
  // what went wrong. Returns false if the caller must wait itself.
  [[nodiscard]] bool hand_over(std::shared_ptr<const DeviceEvent> end);
  // Keeps `memory` alive until the operation has ended.
  void keep(std::shared_ptr<const void> memory) const;
  // Says that the operation is not over when the backend's part of it is.
  void more_follows() { more_follows_ = true; }
  [[nodiscard]] bool does_more_follow() const { return more_follows_; }
  // Starts the timeout again from its beginning.
  void restart_timeout() { timeout_.emplace(context_.timeout); }

  // `peer` is in another operation. Throws what all ranks throw.
  [[noreturn]] void disagree(int peer);
  // The ranks differ in something that is not in the header. All ranks must pass the same text.
  [[noreturn]] void disagree(const std::string& text) {
    throw context_.supervisor->mismatched(text);
  }

  // `peer` has shown something that no rank of this version of bp does.
  [[noreturn]] void refuse(int peer, const std::string& why) {
    throw context_.supervisor->failed(
        *this, in_communicator(peer),
        TransportFailure(ErrorCode::io, why + " (do all ranks run the same version of bp?)"));
  }

  // Runs an action that waits by itself, and turns its TransportFailure into an Error that names
  // `peer`; -1: none.
  void guard(const std::function<void()>& action, int peer = -1);
  [[nodiscard]] const std::atomic<bool>& stop() const { return context_.supervisor->stop(); }

  // Records how the collective is carried out: "ring", a constant.
  void use(std::string_view algorithm) { context_.record->algorithm = algorithm; }
  // The number of bytes that this rank will receive from now on, for error texts.
  void expect(std::size_t bytes) {
    wanted_ = bytes;
    received_ = 0;
  }
  // Counts `bytes` that arrived in another way than by messages.
  void count(std::size_t bytes) { received_ += bytes; }

  [[nodiscard]] std::size_t received() const { return received_; }
  // Whether this rank knows that `member`, a rank of the communicator, has begun the operation.
  [[nodiscard]] bool knows_of(int member) const { return has_entered_ && has_entered_(member); }

  [[nodiscard]] std::span<std::byte> scratch(std::size_t bytes) {
    return context_.scratch->at_least(bytes);
  }
  [[nodiscard]] const CallContext& context() const { return context_; }
  [[nodiscard]] std::chrono::milliseconds time_left() const {
    return timeout_ ? timeout_->left() : context_.timeout;
  }
  // The rank in the transport of a rank of the communicator; -1 for -1.
  [[nodiscard]] int world_rank(int peer) const {
    return peer < 0 ? -1 : context_.members[static_cast<std::size_t>(peer)];
  }
  // "after 65536 of 1048576 bytes of all_reduce sum of 262144 f32 'bucket 3'"
  [[nodiscard]] std::string progress() const;

 private:
  [[nodiscard]] int in_communicator(int peer) const {
    return team_ == nullptr ? peer : team_->members_[static_cast<std::size_t>(peer)];
  }
  // Here and below `peer` is a rank of the communicator.
  void wait_for_member(int peer, const Wait& wait);
  void wait_in_slices(int peer, const Wait& wait);
  // The timeout of this call. It begins with the first wait; most calls end without one.
  [[nodiscard]] PausableTimeout& timeout();
  // [peer][lane]: the number of posted messages
  using Posted = std::vector<std::array<std::uint64_t, kLanes>>;
  [[nodiscard]] std::uint64_t next_slot(Posted& posted, int peer, Lane lane) const;

  const CallContext& context_;
  const Team* team_ = nullptr;
  std::optional<PausableTimeout> timeout_;  // from the first wait on, as the next
  std::optional<Deadline> stall_;
  Posted sends_;  // empty until a message is posted
  Posted receives_;
  HasEntered has_entered_;  // during wait_for() by all ranks of the communicator
  std::size_t received_ = 0;
  std::size_t wanted_ = 0;
  bool more_follows_ = false;
};

}  // namespace bp
