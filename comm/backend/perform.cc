#include "comm/backend/perform.h"

#include <vector>

#include "comm/device/device.h"

namespace bp {
namespace {

using Kind = Operation::Kind;

// Multiplies the caller's input by prescale: in place where the result goes there, else in `room`.
void scale_before(Operation& operation, const CollectiveCall& call, ScratchMemory& room) {
  const Memory& memory = memory_of(operation.device);
  const bool in_place = operation.kind == Kind::all_reduce ||
                        (operation.kind == Kind::reduce && call.rank() == operation.root);
  if (in_place) return memory.scale(operation.output, operation.prescale);
  const bool only_input = operation.kind == Kind::reduce_scatter;
  const ConstView given = only_input ? operation.input : ConstView(operation.output);
  const View copy{room.at_least(given.bytes(), operation.device).data(), given.count, given.type,
                  operation.device};
  memory.copy(copy.data, given.data, given.bytes());
  memory.scale(copy, operation.prescale);
  if (only_input) {
    operation.input = copy;
  } else {
    operation.output = copy;
  }
}

void perform_scaled(Backend& backend,
                    Operation operation,
                    CollectiveCall& call,
                    ScratchMemory& room) {
  const bool over_some = operation.contributors > 0 && operation.reduce == ReduceOp::average;
  if (over_some || operation.postscale != 1) call.more_follows();
  if (operation.prescale != 1) {
    call.wait_for_device();
    scale_before(operation, call, room);
  }
  if (over_some) operation.reduce = ReduceOp::sum;
  backend.run(operation, call);
  const View& result = operation.output;
  if (over_some) memory_of(operation.device).finish_average(result, operation.contributors);
  if (operation.postscale == 1) return;
  if (operation.kind == Kind::reduce && call.rank() != operation.root) return;
  memory_of(operation.device).scale(result, operation.postscale);
}

// Carries out all short tensors of one type as one vector.
void perform_packed(Backend& backend,
                    Operation& one,
                    const std::vector<View>& tensors,
                    CollectiveCall& call,
                    ScratchMemory& room) {
  const Memory& memory = memory_of(one.device);
  std::size_t count = 0;
  for (const View& tensor : tensors) count += tensor.count;
  const DataType type = tensors.front().type;
  std::byte* const packed = room.at_least(count * size_of(type), one.device).data();
  one.output = {packed, count, type, one.device};
  memory.pack(one.output, tensors);
  perform_scaled(backend, one, call, room);
  memory.unpack(one.output, tensors);
}

// All ranks have the same tensors, so they cut the group in the same way.
void perform_group(Backend& backend,
                   const Operation& group,
                   CollectiveCall& call,
                   ScratchMemory& room) {
  call.more_follows();
  call.wait_for_device();
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
      perform_scaled(backend, one, call, room);
    }
    if (!packed.empty()) perform_packed(backend, one, packed, call, room);
  }
}

}  // namespace

void perform(Backend& backend,
             const Operation& operation,
             CollectiveCall& call,
             ScratchMemory& room) {
  if (operation.kind == Kind::all_reduce_grouped) {
    return perform_group(backend, operation, call, room);
  }
  if (!operation.is_scaled() && operation.contributors == 0) return backend.run(operation, call);
  perform_scaled(backend, operation, call, room);
}

}  // namespace bp
