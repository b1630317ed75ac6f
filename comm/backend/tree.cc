#include <array>

#include "comm/backend/algorithms.h"
#include "comm/backend/tree_flow.h"
#include "comm/schedule/binomial_tree.h"

namespace bp {

// The data alone would let root go before its grandchildren have come; the barrier beside it keeps
// everybody until all have entered, and costs little: it is under way while the data is.
void tree_broadcast(CollectiveCall& call, View data, int root, const SegmentLimits& limits) {
  const BinomialTree tree(call.rank(), call.size(), root);
  const Block all{0, data.count};
  const int segments = segment_count(data.bytes(), limits);
  const auto bytes_of = [&](int s) {
    const Block segment = segment_of(all, segments, s);
    const std::size_t size = size_of(data.type);
    return std::span(data.data + segment.offset * size, segment.count * size);
  };
  Barrier barrier(call);
  call.expect(tree.is_root() ? 0 : data.bytes());
  std::vector<CollectiveCall::Message> receives;
  std::vector<CollectiveCall::Message> sends;
  if (!tree.is_root()) {
    for (int s = 0; s < segments; ++s) receives.push_back(call.receive(tree.parent(), bytes_of(s)));
  }
  for (int s = 0; s < segments; ++s) {
    if (!tree.is_root()) call.wait(receives[static_cast<std::size_t>(s)]);
    for (int i = 0; i < tree.children(); ++i)
      sends.push_back(call.send(tree.child(i), bytes_of(s)));
  }
  barrier.finish();
  for (CollectiveCall::Message& message : sends) call.wait(message);
}

void tree_all_reduce(CollectiveCall& call, View data, ReduceOp op, const SegmentLimits& limits) {
  const BinomialTree tree(call.rank(), call.size(), 0);
  TreeFlow::Place place{tree.parent(), {}};
  // A child has the ranks above its parent and its smaller siblings: in order from the smallest.
  for (int i = tree.children() - 1; i >= 0; --i) {
    place.children.push_back({tree.child(i), ReceiveAction::reduce_right});
  }
  const std::span scratch = call.scratch(TreeFlow::scratch_bytes(place, data, limits));
  call.expect(TreeFlow::bytes_received(place, data));
  TreeFlow flow(call, Lane::data, place, data, op, limits, scratch);
  run_flows(std::array{&flow});
}

}  // namespace bp
