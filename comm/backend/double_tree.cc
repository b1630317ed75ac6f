#include "comm/schedule/double_tree.h"

#include <array>

#include "comm/backend/algorithms.h"
#include "comm/backend/parts.h"
#include "comm/backend/tree_flow.h"

namespace bp {
namespace {

TreeFlow::Position position_in(const DoubleTree& trees, int tree) {
  const TreePlace in_tree = trees.place(tree);
  TreeFlow::Position result{in_tree.parent, {}};
  if (in_tree.left >= 0) result.children.push_back({in_tree.left, ReceiveAction::reduce_left});
  if (in_tree.right >= 0) result.children.push_back({in_tree.right, ReceiveAction::reduce_right});
  return result;
}

}  // namespace

// The flows alternate segment by segment, so that neither waits for all of the other.
void double_tree_all_reduce(CollectiveCall& call,
                            View data,
                            ReduceOp op,
                            const SegmentLimits& limits) {
  const DoubleTree trees(call.rank(), call.size());
  const std::array positions{position_in(trees, 0), position_in(trees, 1)};
  const std::array halves{part_of(data, block_of(data.count, 2, 0)),
                          part_of(data, block_of(data.count, 2, 1))};
  const std::size_t first = TreeFlow::scratch_bytes(positions[0], halves[0], limits);
  const std::size_t second = TreeFlow::scratch_bytes(positions[1], halves[1], limits);
  const std::span<std::byte> scratch = call.scratch(first + second);
  call.expect(TreeFlow::bytes_received(positions[0], halves[0]) +
              TreeFlow::bytes_received(positions[1], halves[1]));
  TreeFlow one(call, Lane::data, positions[0], halves[0], op, limits, scratch.first(first));
  TreeFlow two(call, Lane::second, positions[1], halves[1], op, limits, scratch.subspan(first));
  run_flows(std::array{&one, &two});
}

}  // namespace bp
