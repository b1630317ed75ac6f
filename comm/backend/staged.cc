#include "comm/backend/staged.h"

#include "comm/device/device.h"

namespace bp {
namespace {

constexpr std::size_t kAlignment = 64;

std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// Returns whether `inner` lies in `outer`, as the input of an all_gather may.
bool lies_in(const ConstView& inner, const View& outer) {
  return inner.bytes() > 0 && inner.data >= outer.data &&
         inner.data + inner.bytes() <= outer.data + outer.bytes();
}

}  // namespace

void StagedBackend::run(const Operation& operation, CollectiveCall& call) {
  call.wait_for_device();
  const Memory& memory = memory_of(operation.device);
  const ConstView& input = operation.input;
  const View& output = operation.output;
  const bool shared = lies_in(input, output);
  const std::size_t input_room = shared ? 0 : aligned(input.bytes());
  std::byte* const staged = room_.at_least(input_room + output.bytes(), operation.device).data();

  Operation on_host = operation;
  on_host.device = {};
  on_host.output = {staged + input_room, output.count, output.type};
  on_host.input = {shared ? on_host.output.data + (input.data - output.data) : staged, input.count,
                   input.type};
  // An operation with an input of its own only writes its output.
  if (input.count == 0 || shared) memory.read(on_host.output.data, output.data, output.bytes());
  if (!shared) memory.read(staged, input.data, input.bytes());
  host_.run(on_host, call);
  const bool only_read = operation.kind == Operation::Kind::reduce && call.rank() != operation.root;
  if (!only_read) memory.write(output.data, on_host.output.data, output.bytes());
}

}  // namespace bp
