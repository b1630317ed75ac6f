#include "comm/engine/observe/flight_recorder.h"

#include <algorithm>
#include <string>

namespace bp {
namespace {

constexpr std::size_t kKinds = 32;  // more sums than a program is likely to have

double seconds_of(TickClock::Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

FlightRecorder::FlightRecorder() : ring_(kKept) {
  for (Entry& entry : ring_) {
    entry.operation.name.reserve(kNameLength);
    entry.operation.counts.reserve(kCounts);
  }
  sums_.reserve(kKinds);
}

FlightRecorder::EntryId FlightRecorder::begin(const Operation& operation,
                                              std::uint64_t sequence,
                                              Ticks now) {
  const EntryId entry_id = begun_++;
  Entry& entry = ring_[entry_id % kKept];
  entry.id = entry_id;
  entry.state = RecordedOperation::State::under_way;
  entry.sequence = sequence;
  entry.operation = operation;  // into the memory that the entry's name and counts have already
  entry.call = {};
  entry.begin = now;
  return entry_id;
}

void FlightRecorder::end(EntryId entry_id, bool good, const CallRecord& call, Ticks now) {
  Entry& entry = ring_[entry_id % kKept];
  if (entry.id != entry_id) return;  // kKept others have begun since this message did
  entry.state = good ? RecordedOperation::State::done : RecordedOperation::State::failed;
  entry.call = call;
  entry.end = now;
  if (good) count(entry);
}

void FlightRecorder::count(const Entry& entry) {
  // An algorithm's name is one constant. If it were two, the second entry would do no harm.
  const auto same = [&](const Sum& sum) {
    return sum.kind == entry.operation.kind && sum.algorithm.data() == entry.call.algorithm.data();
  };
  auto sum = std::ranges::find_if(sums_, same);
  if (sum == sums_.end()) {
    sum = sums_.insert(sum, {.kind = entry.operation.kind, .algorithm = entry.call.algorithm});
  }
  ++sum->operations;
  sum->bytes += entry.operation.bytes();
  sum->busy += entry.end > entry.begin ? entry.end - entry.begin : 0;
  sum->waiting += entry.call.waited;
}

std::vector<RecordedOperation> FlightRecorder::recent() const {
  const Ticks now = TickClock::now();
  const auto now_of_day = std::chrono::system_clock::now();
  std::vector<RecordedOperation> operations;
  for (std::uint64_t i = begun_ - std::min<std::uint64_t>(begun_, kKept); i < begun_; ++i) {
    const Entry& entry = ring_[i % kKept];
    const bool in_flight = entry.state == RecordedOperation::State::under_way;
    operations.push_back(
        {.state = entry.state,
         .sequence = entry.sequence,
         .text = describe(entry.operation),
         .algorithm = std::string(entry.call.algorithm),
         .bytes = entry.operation.bytes(),
         .begun = std::chrono::time_point_cast<std::chrono::system_clock::duration>(
             now_of_day - TickClock::between(entry.begin, now)),
         .took = TickClock::between(entry.begin, in_flight ? now : entry.end),
         .waited = entry.call.waited});
  }
  return operations;
}

Counters FlightRecorder::counters() const {
  Counters counters;
  for (const Sum& sum : sums_) {
    counters.kinds.push_back({.operation = std::string(name_of(sum.kind)),
                              .algorithm = std::string(sum.algorithm),
                              .operations = sum.operations,
                              .bytes = sum.bytes,
                              .seconds_busy = seconds_of(TickClock::between(0, sum.busy)),
                              .seconds_waiting = seconds_of(sum.waiting)});
    counters.operations += sum.operations;
    counters.bytes += sum.bytes;
    counters.seconds_busy += counters.kinds.back().seconds_busy;
    counters.seconds_waiting += seconds_of(sum.waiting);
  }
  return counters;
}

}  // namespace bp
