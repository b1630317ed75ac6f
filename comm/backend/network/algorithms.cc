#include "comm/backend/network/algorithms.h"

#include <numeric>

#include "base/check.h"
#include "comm/reduce/reduce.h"

namespace bp {

Block gathered_block(std::span<const std::size_t> counts, int r) {
  const auto before = counts.first(static_cast<std::size_t>(r));
  return {.offset = std::accumulate(before.begin(), before.end(), std::size_t{0}),
          .count = counts[static_cast<std::size_t>(r)]};
}

std::vector<std::size_t> even_counts(std::size_t count, int ranks) {
  std::vector<std::size_t> counts;
  for (int r = 0; r < ranks; ++r) counts.push_back(block_of(count, ranks, r).count);
  return counts;
}

void apply_received(ReceiveAction how, const View& data, ReduceOp op, const std::byte* received) {
  switch (how) {
    case ReceiveAction::reduce_left:
      reduce_to(data.type, op, data.data, received, data.data, data.count);
      return;
    case ReceiveAction::reduce_right:
      reduce_to(data.type, op, data.data, data.data, received, data.count);
      return;
    case ReceiveAction::replace:  // was received in place
    case ReceiveAction::none:
      return;
  }
}

void all_reduce_by(Algorithm algorithm,
                   CollectiveCall& call,
                   View data,
                   ReduceOp op,
                   const SegmentLimits& limits) {
  switch (algorithm) {
    case Algorithm::ring:
      return ring_all_reduce(call, data, op, limits);
    case Algorithm::recursive_doubling:
      return doubling_all_reduce(call, data, op);
    case Algorithm::halving_doubling:
      return halving_all_reduce(call, data, op, limits);
    case Algorithm::tree:
      return tree_all_reduce(call, data, op, limits);
    case Algorithm::double_tree:
      return double_tree_all_reduce(call, data, op, limits);
    case Algorithm::automatic:
    case Algorithm::hierarchical:
      break;
  }
  BP_CHECK(false, "this algorithm is made of others");
}

Barrier::Barrier(CollectiveCall& call) : call_(call), schedule_(call.rank(), call.size()) {
  for (int k = 0; k < schedule_.steps(); ++k) {
    receives_.push_back(call_.receive(schedule_.step(k).receive_from, {}, Lane::barrier));
  }
  if (schedule_.steps() > 0) send_step(0);
}

void Barrier::send_step(int k) {
  sends_.push_back(call_.send(schedule_.step(k).send_to, {}, Lane::barrier));
}

void Barrier::finish() {
  for (int k = 0; k < schedule_.steps(); ++k) {
    call_.wait(receives_[static_cast<std::size_t>(k)]);
    if (k + 1 < schedule_.steps()) send_step(k + 1);
  }
  for (CollectiveCall::Message& message : sends_) call_.wait(message);
}

}  // namespace bp
