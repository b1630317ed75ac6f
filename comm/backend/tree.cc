#include "comm/backend/algorithms.h"
#include "comm/schedule/binomial_tree.h"

namespace bp {

// The data alone would let root go before its grandchildren have come; the barrier beside it keeps
// everybody until all have entered, and costs little: it is under way while the data is.
void tree_broadcast(Call& call, View data, int root, const SegmentLimits& limits) {
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
  std::vector<Call::Message> receives;
  std::vector<Call::Message> sends;
  if (!tree.is_root()) {
    for (int s = 0; s < segments; ++s) receives.push_back(call.receive(tree.parent(), bytes_of(s)));
  }
  for (int s = 0; s < segments; ++s) {
    if (!tree.is_root()) call.wait(receives[static_cast<std::size_t>(s)]);
    for (int i = 0; i < tree.children(); ++i)
      sends.push_back(call.send(tree.child(i), bytes_of(s)));
  }
  barrier.finish();
  for (Call::Message& message : sends) call.wait(message);
}

}  // namespace bp
