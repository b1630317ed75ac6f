// The part of Engine by which ranks join. Who has joined knows nothing of what the others do next;
// so where that may happen, every collective begins with a round in which each rank shows a record
// of what it is about to do, or that it has joined.
#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>

#include "base/text.h"
#include "comm/engine/engine.h"

namespace bp {
namespace {

using Kind = Operation::Kind;

struct Record {
  Kind kind = Kind::join;
  ReduceOp reduce = ReduceOp::sum;
  DataType type = DataType::u8;
  std::uint8_t name_bytes = 0;
  std::uint32_t unused = 0;
  std::uint64_t count = 0;
  double prescale = 1;
  double postscale = 1;
  std::array<char, kLongestJoinableName> name = {};
};

Record record_of(const Operation& operation) {
  Record record;
  const ConstView whole = operation.whole();
  record.kind = operation.kind;
  record.reduce = operation.reduce;
  record.type = whole.type;
  record.count = whole.count;
  record.prescale = operation.prescale;
  record.postscale = operation.postscale;
  record.name_bytes = static_cast<std::uint8_t>(operation.name.size());
  std::ranges::copy(operation.name, record.name.begin());
  return record;
}

Record record_at(std::span<const std::byte> records, int rank) {
  Record record;
  std::memcpy(&record, &records[static_cast<std::size_t>(rank) * sizeof(Record)], sizeof(Record));
  return record;
}

// What the others do, with zeros for our part.
Operation operation_of(const Record& record, Scratch& zeros) {
  Operation operation;
  operation.kind = record.kind;
  operation.reduce = record.reduce;
  operation.prescale = record.prescale;
  operation.postscale = record.postscale;
  operation.name.assign(record.name.data(), record.name_bytes);
  operation.output = {nullptr, record.count, record.type};
  if (operation.kind != Kind::all_reduce) return operation;
  operation.output.data = zeros.at_least(operation.output.bytes()).data();
  std::fill_n(operation.output.data, operation.output.bytes(), std::byte{0});
  return operation;
}

bool goes_on_without(const Operation& operation) {
  if (operation.kind == Kind::barrier) return true;
  return operation.kind == Kind::all_reduce &&
         (operation.reduce == ReduceOp::sum || operation.reduce == ReduceOp::average);
}

}  // namespace

// Those that have joined, ascending.
std::vector<int> Engine::exchange_records(const Operation& own) {
  records_.resize(setup_.members.size() * sizeof(Record));
  const auto mine = std::span(records_).subspan(
      static_cast<std::size_t>(setup_.rank) * sizeof(Record), sizeof(Record));
  const Record record = record_of(own);
  std::memcpy(mine.data(), &record, sizeof(Record));
  Operation round;
  round.kind = Kind::all_gather;
  round.input = {mine.data(), mine.size(), DataType::u8};
  round.output = {records_.data(), records_.size(), DataType::u8};
  round.counts.assign(setup_.members.size(), sizeof(Record));
  round.name = "who has joined";
  round.timeout = own.timeout;
  carry_out_one(round, FlightRecorder::Clock::now());
  std::vector<int> joined;
  for (int rank = 0; rank < size(); ++rank) {
    if (record_at(records_, rank).kind == Kind::join) joined.push_back(rank);
  }
  return joined;
}

void Engine::carry_out_among_joined(Operation operation, const std::vector<int>& joined) {
  if (!goes_on_without(operation)) {
    throw mismatched(concat(ranks_text(joined), " of ", setup_.group,
                            joined.size() == 1 ? " has" : " have",
                            " joined, and the others asked for ", describe(operation),
                            ": after a join there are only all_reduce of sums and averages, and "
                            "barrier"));
  }
  operation.contributors = size() - static_cast<int>(joined.size());
  carry_out_one(operation, FlightRecorder::Clock::now());
}

void Engine::carry_out(const Operation& operation) {
  if (!setup_.joinable || size() == 1) {
    // A rank alone is the last to join.
    if (operation.kind != Kind::join) carry_out_one(operation, entered_);
    return;
  }
  for (;;) {
    const std::vector<int> joined = exchange_records(operation);
    if (static_cast<int>(joined.size()) == size()) {
      std::vector<int> last;
      std::ranges::set_difference(joined, joined_, std::back_inserter(last));
      joined_.clear();
      last_to_join_ = last.back();
      return;
    }
    joined_ = joined;
    if (operation.kind != Kind::join) {
      return joined.empty() ? carry_out_one(operation, FlightRecorder::Clock::now())
                            : carry_out_among_joined(operation, joined);
    }
    int active = 0;
    while (std::ranges::binary_search(joined, active)) ++active;
    Operation next = operation_of(record_at(records_, active), packing_);
    next.timeout = operation.timeout;
    carry_out_among_joined(std::move(next), joined);
  }
}

int Engine::join(const Operation& operation) {
  run(operation);
  return last_to_join_;
}

}  // namespace bp
