// One collective in progress on this rank, as an algorithm sees it: messages to and from the ranks
// of the communicator, all on the collective's own slot. It waits with the collective's deadline,
// counts how far it got, and turns every trouble into an Error that says so.
//
// Threads: one at a time.
#pragma once

#include <array>
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
#include "comm/backend/operation.h"
#include "comm/transport/transport.h"

namespace bp {

class CollectiveCall;

// What the engine does for a call that does not go smoothly. Each may wait a little itself.
class CallSupervisor {
 public:
  CallSupervisor() = default;
  CallSupervisor(const CallSupervisor&) = delete;
  CallSupervisor& operator=(const CallSupervisor&) = delete;
  virtual ~CallSupervisor() = default;

  // Set when the call has to end.
  [[nodiscard]] virtual const std::atomic<bool>& stop() const = 0;
  // The call has waited long: look whether all ranks are at the same collective, and throw when
  // they are not.
  virtual void stalled(const CollectiveCall& call) = 0;
  // The ranks are seen to disagree: what all of them are told.
  [[nodiscard]] virtual Error mismatched(const std::string& text) = 0;
  // What to throw when ... (peer -1: not known which)
  [[nodiscard]] virtual Error stopped(const CollectiveCall& call) = 0;
  [[nodiscard]] virtual Error timed_out(const CollectiveCall& call, int peer) = 0;
  [[nodiscard]] virtual Error failed(const CollectiveCall& call,
                                     int peer,
                                     const TransportFailure& why) = 0;
  // A wait for `peer` is over.
  virtual void waited(int peer, std::chrono::steady_clock::time_point since) = 0;
};

// Memory that outlives a call, so that the next one need not allocate.
class Scratch {
 public:
  // 64-byte aligned, content undefined; gone at the next call of this function.
  [[nodiscard]] std::span<std::byte> at_least(std::size_t bytes);

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::unique_ptr<Line[]> lines_;
  std::size_t count_ = 0;
};

// What is kept of a call.
struct CallRecord {
  std::string_view algorithm = {};     // a constant
  std::chrono::nanoseconds waited{0};  // for other ranks
};

struct CallContext {
  Transport* transport = nullptr;
  CallSupervisor* supervisor = nullptr;
  Scratch* scratch = nullptr;
  CallRecord* record = nullptr;
  std::span<const int> members;  // transport ranks, by rank in the communicator
  int rank = 0;                  // in the communicator
  std::uint64_t slot = 0;        // the first of those that this collective may use
  std::uint64_t sequence = 0;    // how many collectives came before
  const Operation* operation = nullptr;
  Deadline::Clock::time_point begin;
  std::chrono::milliseconds timeout{0};      // it may take since, while we run
  std::chrono::milliseconds stall_after{0};  // when, and how often, to look whether all agree
};

// Both ends number the messages of a pair of ranks, by lane: the first send meets the first
// receive, whatever happens to others. Lanes need not be posted in one order at both ends.
enum class Lane : std::uint64_t { data, second, barrier };
inline constexpr std::size_t kLanes = 3;

class CollectiveCall {
 public:
  // A message on its way; abandoned when dropped.
  class Message {
   private:
    friend class CollectiveCall;
    std::unique_ptr<Transfer> transfer_;
    int peer_ = -1;             // in the communicator
    std::size_t received_ = 0;  // bytes that its completion adds to what was received
  };

  explicit CollectiveCall(CallContext context);

  // While it lives, the call is one among `members`: ranks of the communicator, ascending, ours
  // among them. rank(), size() and every peer are counted there. One at a time.
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

  // Post receives before the sends that they belong with. All throw Error.
  [[nodiscard]] Message receive(int peer, std::span<std::byte> into, Lane lane = Lane::data);
  [[nodiscard]] Message send(int peer, std::span<const std::byte> from, Lane lane = Lane::data);
  void wait(Message& message);  // returns at once where it is complete or was never posted

  // Waits for `peer` by another way than a message: `wait` is like Transfer::wait().
  using Wait = std::function<bool(const Deadline& deadline, const std::atomic<bool>& stop)>;
  void wait_for(int peer, const Wait& wait);
  // `peer` is seen to be at another operation: throws what all ranks are told.
  [[noreturn]] void disagree(int peer);
  // The ranks differ in what no header tells; all come to the same text.
  [[noreturn]] void disagree(const std::string& text) {
    throw context_.supervisor->mismatched(text);
  }

  // Runs what waits by itself, and turns its TransportFailure into an Error. The peer is unknown.
  void guard(const std::function<void()>& action);
  [[nodiscard]] const std::atomic<bool>& stop() const { return context_.supervisor->stop(); }

  // How it is carried out: "ring", a constant.
  void use(std::string_view algorithm) { context_.record->algorithm = algorithm; }
  // How many bytes this rank will receive from now on, for messages about trouble.
  void expect(std::size_t bytes) {
    wanted_ = bytes;
    received_ = 0;
  }
  // And how many have come by another way than messages.
  void count(std::size_t bytes) { received_ += bytes; }

  [[nodiscard]] std::size_t received() const { return received_; }

  [[nodiscard]] std::span<std::byte> scratch(std::size_t bytes) {
    return context_.scratch->at_least(bytes);
  }
  [[nodiscard]] const CallContext& context() const { return context_; }
  [[nodiscard]] const PausableTimeout& patience() const { return patience_; }
  // Of a rank of the communicator; -1 for an unknown one.
  [[nodiscard]] int world_rank(int peer) const {
    return peer < 0 ? -1 : context_.members[static_cast<std::size_t>(peer)];
  }
  // "after 65536 of 1048576 bytes of all_reduce sum of 262144 f32 'bucket 3'"
  [[nodiscard]] std::string progress() const;

 private:
  [[nodiscard]] int in_communicator(int peer) const {
    return team_ == nullptr ? peer : team_->members_[static_cast<std::size_t>(peer)];
  }
  // `peer` in the communicator, as in all below.
  void wait_for_member(int peer, const Wait& wait);
  void wait_in_slices(int peer, const Wait& wait);
  // [peer][lane]: how many messages were posted
  using Posted = std::vector<std::array<std::uint64_t, kLanes>>;
  [[nodiscard]] std::uint64_t next_slot(Posted& posted, int peer, Lane lane) const;

  CallContext context_;
  const Team* team_ = nullptr;
  PausableTimeout patience_;
  std::optional<Deadline> stall_;  // since it waits
  Posted sends_;                   // empty until a message is posted
  Posted receives_;
  std::size_t received_ = 0;
  std::size_t wanted_ = 0;
};

}  // namespace bp
