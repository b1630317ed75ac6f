// How ranks join (bp::join). A rank that has joined does not know what the others do next. So in a
// joinable communicator every collective begins with a round in which each rank shows a record:
// what it is about to do, or that it has joined. A rank that has joined then does what the others
// do, with zeros.
//
// Threads: one at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bp/types.h"
#include "comm/backend/common/collective_call.h"
#include "comm/backend/common/operation.h"
#include "comm/engine/observe/engine_state.h"

namespace bp {

// A record has a fixed length, so a name has a limit.
inline constexpr std::size_t kLongestJoinableName = 200;

// The ranks of a job run one build on one kind of machine, so a record is sent as it lies in
// memory.
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

class JoinProtocol {
 public:
  using CarryOut = std::function<void(const Operation&)>;

  // `state` and `zeros` must outlive this object. `zeros` holds what a rank that has joined adds.
  JoinProtocol(EngineState& state, ScratchMemory& zeros) : state_(state), zeros_(zeros) {}

  // Does the operation, a join or any other; `carry_out` does one collective. Throws a mismatch
  // that names the joined ranks if these cannot take part in what the others ask for.
  void run(const Operation& operation, const CarryOut& carry_out);
  [[nodiscard]] int last_to_join() const { return last_to_join_; }

 private:
  [[nodiscard]] std::vector<int> exchange_records(const Operation& own, const CarryOut& carry_out);
  void run_among_joined(Operation operation,
                        const std::vector<int>& joined,
                        const CarryOut& carry_out);

  EngineState& state_;
  ScratchMemory& zeros_;
  std::vector<std::byte> records_;  // of all ranks
  std::vector<int> joined_;         // by the previous round of records
  int last_to_join_ = 0;
};

}  // namespace bp
