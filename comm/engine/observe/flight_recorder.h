// The last operations of one communicator, and sums over all of them. It is always on, so recording
// copies a few fields into memory that exists already; recent() makes the text.
//
// Threads: one at a time. The mutex of EngineState ensures that.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/system/tick_clock.h"
#include "bp/activity.h"
#include "comm/backend/common/collective_call.h"
#include "comm/backend/common/operation.h"

namespace bp {

class FlightRecorder {
 public:
  using Ticks = TickClock::Ticks;

  static constexpr std::size_t kKept = 1024;
  // A longer name, or more counts, cost one allocation in each entry of the ring.
  static constexpr std::size_t kNameLength = 48;
  static constexpr std::size_t kCounts = 8;

  FlightRecorder();

  // An operation begins, with the number `sequence`. Several may be in flight at a time.
  using EntryId = std::uint64_t;
  EntryId begin(const Operation& operation, std::uint64_t sequence, Ticks now);
  // The operation with this id ends.
  void end(EntryId entry_id, bool good, const CallRecord& call, Ticks now);

  [[nodiscard]] std::vector<RecordedOperation> recent() const;  // oldest first
  [[nodiscard]] Counters counters() const;

 private:
  struct Entry {
    RecordedOperation::State state = RecordedOperation::State::done;
    std::uint64_t sequence = 0;
    EntryId id = 0;
    Operation operation;  // its views are not dereferenced
    CallRecord call;
    Ticks begin = 0;
    Ticks end = 0;
  };
  struct Sum {
    Operation::Kind kind = Operation::Kind::barrier;
    std::string_view algorithm;
    std::uint64_t operations = 0;
    std::uint64_t bytes = 0;
    Ticks busy = 0;
    std::chrono::nanoseconds waiting{0};
  };
  void count(const Entry& entry);

  std::vector<Entry> ring_;
  std::uint64_t begun_ = 0;
  std::vector<Sum> sums_;  // one for each kind and algorithm that has occurred
};

}  // namespace bp
