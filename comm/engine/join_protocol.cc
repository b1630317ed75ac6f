#include "comm/engine/join_protocol.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "base/text.h"
#include "comm/device/device_memory.h"

namespace bp {
namespace {

using Kind = Operation::Kind;

JoinRecord record_at(std::span<const std::byte> records, int rank) {
  JoinRecord record;
  std::memcpy(&record, &records[static_cast<std::size_t>(rank) * sizeof(JoinRecord)],
              sizeof(JoinRecord));
  return record;
}

bool takes_zeros(const Operation& operation) {
  if (operation.kind == Kind::barrier) return true;
  return (operation.kind == Kind::all_reduce || operation.kind == Kind::all_reduce_int8) &&
         (operation.reduce == ReduceOp::sum || operation.reduce == ReduceOp::average);
}

// Returns what the others do, with zeros as the data of this rank.
Operation operation_with_zeros(const JoinRecord& record, ScratchMemory& zeros) {
  Operation operation = operation_of(record);
  if (!takes_zeros(operation)) return operation;
  operation.output.data = zeros.at_least(operation.output.bytes(), operation.device).data();
  memory_of(operation.device).fill(operation.output.data, std::byte{0}, operation.output.bytes());
  return operation;
}

}  // namespace

// Returns the ranks that have joined, ascending.
std::vector<int> JoinProtocol::exchange_records(const Operation& own, const CarryOut& carry_out) {
  const EngineSetup& setup = state_.setup();
  records_.resize(setup.members.size() * sizeof(JoinRecord));
  const auto mine = std::span(records_).subspan(
      static_cast<std::size_t>(setup.rank) * sizeof(JoinRecord), sizeof(JoinRecord));
  const JoinRecord record = join_record_of(own);
  std::memcpy(mine.data(), &record, sizeof(JoinRecord));
  Operation round;
  round.kind = Kind::all_gather;
  round.input = {mine.data(), mine.size(), DataType::u8};
  round.output = {records_.data(), records_.size(), DataType::u8};
  round.counts.assign(setup.members.size(), sizeof(JoinRecord));
  round.name = "which ranks have joined";
  round.timeout = own.timeout;
  carry_out(round);
  std::vector<int> joined;
  for (int rank = 0; rank < setup.size(); ++rank) {
    const JoinRecord theirs = record_at(records_, rank);
    if (const std::string problem = problem_of(theirs); !problem.empty()) {
      throw state_.declare(
          setup.transport_rank(rank), ErrorCode::io,
          concat(setup.rank_text(rank), " sent a broken record of its next operation: ", problem,
                 " (do all ranks run the same version of bp?)"));
    }
    if (theirs.kind == Kind::join) joined.push_back(rank);
  }
  return joined;
}

void JoinProtocol::run_among_joined(Operation operation,
                                    const std::vector<int>& joined,
                                    const CarryOut& carry_out) {
  if (!takes_zeros(operation)) {
    throw state_.declare(-1, ErrorCode::mismatch,
                         concat(ranks_text(joined), " of ", state_.setup().group,
                                joined.size() == 1 ? " has" : " have",
                                " joined, and the others asked for ", describe(operation),
                                ": after a join there are only all_reduce of sums and averages, "
                                "and barrier"));
  }
  operation.contributors = state_.setup().size() - static_cast<int>(joined.size());
  carry_out(operation);
}

void JoinProtocol::run(const Operation& operation, const CarryOut& carry_out) {
  for (;;) {
    const std::vector<int> joined = exchange_records(operation, carry_out);
    if (static_cast<int>(joined.size()) == state_.setup().size()) {
      std::vector<int> last;
      std::ranges::set_difference(joined, joined_, std::back_inserter(last));
      joined_.clear();
      last_to_join_ = last.back();
      return;
    }
    joined_ = joined;
    if (operation.kind != Kind::join) {
      if (joined.empty()) return carry_out(operation);
      return run_among_joined(operation, joined, carry_out);
    }
    int active = 0;
    while (std::ranges::binary_search(joined, active)) ++active;
    Operation next = operation_with_zeros(record_at(records_, active), zeros_);
    next.timeout = operation.timeout;
    run_among_joined(std::move(next), joined, carry_out);
  }
}

JoinRecord join_record_of(const Operation& operation) {
  JoinRecord record;
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

std::string problem_of(const JoinRecord& record) {
  using Kind = Operation::Kind;
  if (record.kind > Kind::join || record.kind == Kind::message) {
    return concat(
        "it asks for operation number ", static_cast<int>(record.kind),
        record.kind > Kind::join ? ", which does not exist" : ", which is not a collective");
  }
  if (std::ranges::find(kReduceOps, record.reduce) == kReduceOps.end()) {
    return concat("it asks for reduction number ", static_cast<int>(record.reduce),
                  ", which does not exist");
  }
  const std::size_t element = size_of(record.type);
  if (element == 0) {
    return concat("it has elements of type number ", static_cast<int>(record.type),
                  ", which does not exist");
  }
  const bool is_in_int8 = record.kind == Kind::all_reduce_int8;
  if ((record.kind == Kind::all_reduce && !can_reduce(record.reduce, record.type)) ||
      (is_in_int8 && (record.reduce != ReduceOp::sum || record.type != DataType::f32))) {
    return concat("it asks for the reduction ", name_of(record.reduce), " of ",
                  name_of(record.type), " elements, which is not defined");
  }
  if (record.count > std::numeric_limits<std::ptrdiff_t>::max() / element) {
    return concat("it has ", record.count, " ", name_of(record.type),
                  " elements, more bytes than there are addresses");
  }
  if (record.name_bytes > record.name.size()) {
    return concat("its name has ", static_cast<int>(record.name_bytes),
                  " bytes, and the longest has ", record.name.size());
  }
  return "";
}

Operation operation_of(const JoinRecord& record) {
  Operation operation;
  operation.kind = record.kind;
  operation.reduce = record.reduce;
  operation.prescale = record.prescale;
  operation.postscale = record.postscale;
  operation.name.assign(record.name.data(), record.name_bytes);
  operation.output = {nullptr, record.count, record.type};
  return operation;
}

}  // namespace bp
