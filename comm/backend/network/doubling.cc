#include "comm/backend/network/algorithms.h"
#include "comm/reduce/reduce.h"
#include "comm/schedule/recursive_doubling.h"

namespace bp {
namespace {

std::size_t bytes_to_receive(const RecursiveDoubling& schedule, std::size_t bytes) {
  std::size_t total = 0;
  for (int k = 0; k < schedule.steps(); ++k) {
    if (schedule.step(k).received != ReceiveAction::none) total += bytes;
  }
  return total;
}

}  // namespace

void doubling_all_reduce(CollectiveCall& call, View data, ReduceOp op) {
  const RecursiveDoubling schedule(call.rank(), call.size());
  const std::span own(data.data, data.bytes());
  const std::span<std::byte> scratch = call.scratch(data.bytes());
  call.expect(bytes_to_receive(schedule, data.bytes()));
  for (int k = 0; k < schedule.steps(); ++k) {
    const DoublingStep step = schedule.step(k);
    CollectiveCall::Message incoming;
    CollectiveCall::Message outgoing;
    if (step.received != ReceiveAction::none) {
      incoming = call.receive(step.peer, step.received == ReceiveAction::replace ? own : scratch);
    }
    if (step.send) outgoing = call.send(step.peer, own);
    call.wait(incoming);
    call.wait(outgoing);  // before its memory changes
    apply_received(step.received, data, op, scratch.data());
  }
  // The folded ranks get the sum too, so that every rank divides the same sum.
  if (op == ReduceOp::average) finish_average(data.type, data.data, data.count, call.size());
}

}  // namespace bp
