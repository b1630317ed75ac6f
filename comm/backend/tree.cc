#include <array>

#include "comm/backend/algorithms.h"
#include "comm/backend/tree_flow.h"
#include "comm/schedule/binomial_tree.h"

namespace bp {

// By the data alone, the root would complete before its grandchildren have entered. The barrier
// beside them keeps every rank until all have entered. It costs little, because it runs at the same
// time.
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
    for (int i = 0; i < tree.children(); ++i) {
      sends.push_back(call.send(tree.child(i), bytes_of(s)));
    }
  }
  barrier.finish();
  for (CollectiveCall::Message& message : sends) call.wait(message);
}

void tree_all_reduce(CollectiveCall& call, View data, ReduceOp op, const SegmentLimits& limits) {
  const BinomialTree tree(call.rank(), call.size(), 0);
  TreeFlow::Position position{tree.parent(), {}};
  // A child's subtree has the ranks above its parent and its smaller siblings, so the smallest
  // comes first.
  for (int i = tree.children() - 1; i >= 0; --i) {
    position.children.push_back({tree.child(i), ReceiveAction::reduce_right});
  }
  const std::span scratch = call.scratch(TreeFlow::scratch_bytes(position, data, limits));
  call.expect(TreeFlow::bytes_received(position, data));
  TreeFlow flow(call, Lane::data, position, data, op, limits, scratch);
  run_flows(std::array{&flow});
}

}  // namespace bp
