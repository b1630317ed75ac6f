#include "comm/backend/perform.h"

#include <utility>
#include <vector>

#include "comm/device/device_memory.h"

namespace bp {
namespace {

using Kind = Operation::Kind;

// What the steps of one operation share.
struct Steps {
  Backend& backend;
  CollectiveCall& call;
  ScratchMemory& room;
  const Memory& memory;  // orders what it does with the backend's work

  [[nodiscard]] std::byte* place(std::size_t bytes, const Device& device) const {
    std::byte* const memory_there = room.at_least(bytes, device).data();
    call.keep(room.share());
    return memory_there;
  }
};

// Multiplies the caller's input by prescale: in place where the result goes there, else in `room`.
void scale_before(Operation& operation, const Steps& steps) {
  const Memory& memory = steps.memory;
  const double factor = std::exchange(operation.prescale, 1);
  const bool in_place = operation.kind == Kind::all_reduce ||
                        (operation.kind == Kind::reduce && steps.call.rank() == operation.root);
  if (in_place) return memory.scale(operation.output, factor);
  const bool only_input = operation.kind == Kind::reduce_scatter;
  const ConstView given = only_input ? operation.input : ConstView(operation.output);
  const View copy{steps.place(given.bytes(), operation.device), given.count, given.type,
                  operation.device};
  memory.copy(copy.data, given.data, given.bytes());
  memory.scale(copy, factor);
  if (only_input) {
    operation.input = copy;
  } else {
    operation.output = copy;
  }
}

void perform_scaled(Operation operation, const Steps& steps) {
  const bool over_some = operation.contributors > 0 && operation.reduce == ReduceOp::average;
  if (operation.prescale != 1 && !steps.backend.prescales(operation)) {
    scale_before(operation, steps);
  }
  if (over_some) operation.reduce = ReduceOp::sum;
  steps.backend.run(operation, steps.call);
  const View& result = operation.output;
  if (over_some) steps.memory.finish_average(result, operation.contributors);
  if (operation.postscale == 1) return;
  if (operation.kind == Kind::reduce && steps.call.rank() != operation.root) return;
  steps.memory.scale(result, operation.postscale);
}

// Carries out all short tensors of one type as one vector.
void perform_packed(Operation& one, const std::vector<View>& tensors, const Steps& steps) {
  std::size_t count = 0;
  for (const View& tensor : tensors) count += tensor.count;
  const DataType type = tensors.front().type;
  one.output = {steps.place(count * size_of(type), one.device), count, type, one.device};
  steps.memory.pack(one.output, tensors);
  perform_scaled(one, steps);
  steps.memory.unpack(one.output, tensors);
}

// All ranks have the same tensors, so they cut the group in the same way.
void perform_group(const Operation& group, const Steps& steps) {
  Operation one = group;
  one.kind = Kind::all_reduce;
  one.group.clear();
  for (const DataType type : kDataTypes) {
    std::vector<View> packed;
    for (const View& tensor : group.group) {
      if (tensor.type != type) continue;
      if (tensor.bytes() <= kPackedBytes) {
        packed.push_back(tensor);
        continue;
      }
      one.output = tensor;
      perform_scaled(one, steps);
    }
    if (!packed.empty()) perform_packed(one, packed, steps);
  }
}

}  // namespace

void perform(Backend& backend,
             const Operation& operation,
             CollectiveCall& call,
             ScratchMemory& room) {
  const bool is_group = operation.kind == Kind::all_reduce_grouped;
  if (!is_group && !operation.is_scaled() && operation.contributors == 0) {
    return backend.run(operation, call);
  }
  call.more_follows();
  const Steps steps{backend, call, room, backend.begin(operation, call)};
  if (is_group) {
    perform_group(operation, steps);
  } else {
    perform_scaled(operation, steps);
  }
  backend.end(call);
}

}  // namespace bp
