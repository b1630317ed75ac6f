// What a rank of a joinable communicator shows to the others before each collective
// (join_protocol.h): what it is about to do, or that it has joined.
//
// The ranks of a job run one build on one kind of machine, so a record is sent as it lies in
// memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "bp/types.h"
#include "comm/backend/operation.h"

namespace bp {

// A record has a fixed length, so a name has a limit.
inline constexpr std::size_t kLongestJoinableName = 200;

struct JoinRecord {
  Operation::Kind kind = Operation::Kind::join;
  ReduceOp reduce = ReduceOp::sum;
  DataType type = DataType::u8;
  std::uint8_t name_bytes = 0;
  std::uint32_t unused = 0;
  std::uint64_t count = 0;
  double prescale = 1;
  double postscale = 1;
  std::array<char, kLongestJoinableName> name = {};
};

[[nodiscard]] JoinRecord join_record_of(const Operation& operation);

// Returns what is wrong with a record that no rank of this version of bp sends; else "".
[[nodiscard]] std::string problem_of(const JoinRecord& record);

// Returns the operation of a record that has no problem, without memory.
[[nodiscard]] Operation operation_of(const JoinRecord& record);

}  // namespace bp
