#include <algorithm>
#include <array>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "comm/backend/common/collective_call.h"
#include "comm/backend/network/algorithms.h"
#include "comm/reduce/reduce.h"
#include "comm/schedule/binomial_tree.h"
#include "comm/schedule/double_tree.h"
#include "comm/schedule/folding.h"
#include "comm/schedule/segments.h"

namespace bp {
namespace {

std::size_t longest_segment(const View& data, const SegmentLimits& limits) {
  const int segments = segment_count(data.bytes(), limits);
  return segment_of({.count = data.count}, segments, 0).count * size_of(data.type);
}

// Moves a vector up a tree, reducing it at every rank, and moves the result down again; in
// segments, so that all levels of the tree are busy at once.
class TreeFlow {
 public:
  struct Child {
    int rank = -1;
    ReceiveAction received =
        ReceiveAction::reduce_right;  // or reduce_left, by its position among the operands
  };
  // Where this rank is in a tree.
  struct Position {
    int parent = -1;              // -1: this rank is the top
    std::vector<Child> children;  // in the order in which they are reduced
  };

  static constexpr std::size_t kWindow = 3;  // receives in flight from each child

  // Returns the memory that a flow needs for segments that it reduces.
  [[nodiscard]] static std::size_t scratch_bytes(const Position& position,
                                                 const View& data,
                                                 const SegmentLimits& limits) {
    return position.children.size() * kWindow * longest_segment(data, limits);
  }

  [[nodiscard]] static std::size_t bytes_received(const Position& position, const View& data) {
    return (position.children.size() + (position.parent < 0 ? 0 : 1)) * data.bytes();
  }

  // `scratch`: scratch_bytes() bytes. It and `call` must outlive the flow. Each flow of a call
  // needs its own lane, because two trees may connect the same two ranks.
  TreeFlow(CollectiveCall& call,
           Lane lane,
           Position position,
           const View& data,
           ReduceOp op,
           const SegmentLimits& limits,
           std::span<std::byte> scratch)
      : call_(call),
        lane_(lane),
        position_(std::move(position)),
        data_(data),
        op_(op),
        segments_(segment_count(data.bytes(), limits)),
        scratch_(scratch),
        from_children_(position_.children.size()) {
    for (int s = 0; s < std::min(segments_, static_cast<int>(kWindow)); ++s) post_receives(s);
  }

  [[nodiscard]] int segments() const { return segments_; }

  // The caller must call up() for s = 0, 1, ..., segments() - 1, then expect_down() for each, then
  // down() for each, then finish().
  void up(int s) {
    const View own = segment(s);
    for (std::size_t i = 0; i < position_.children.size(); ++i) {
      call_.wait(from_children_[i].front());
      from_children_[i].pop_front();
      apply_received(position_.children[i].received, own, op_, landing(i, s).data());
    }
    const int next = s + static_cast<int>(kWindow);
    if (next < segments_) post_receives(next);
    if (position_.parent >= 0) {
      to_parent_.push_back(call_.send(position_.parent, bytes_of(own), lane_));
      return;
    }
    if (op_ == ReduceOp::average) finish_average(own.type, own.data, own.count, call_.size());
    send_down(s);
  }

  // Receives in place, so what lay there must have been sent.
  void expect_down(int s) {
    if (position_.parent < 0) return;
    call_.wait(to_parent_[static_cast<std::size_t>(s)]);
    from_parent_.push_back(call_.receive(position_.parent, bytes_of(segment(s)), lane_));
  }

  void down(int s) {
    if (position_.parent < 0) return;
    call_.wait(from_parent_[static_cast<std::size_t>(s)]);
    send_down(s);
  }

  void finish() {
    for (CollectiveCall::Message& message : to_children_) call_.wait(message);
  }

 private:
  [[nodiscard]] View segment(int s) const {
    return part_of(data_, segment_of({.count = data_.count}, segments_, s));
  }

  [[nodiscard]] std::span<std::byte> landing(std::size_t child, int s) const {
    const std::size_t room = scratch_.size() / (kWindow * position_.children.size());
    const std::size_t row = child * kWindow + static_cast<std::size_t>(s) % kWindow;
    return scratch_.subspan(row * room, segment(s).bytes());
  }

  void post_receives(int s) {
    for (std::size_t i = 0; i < position_.children.size(); ++i) {
      from_children_[i].push_back(call_.receive(position_.children[i].rank, landing(i, s), lane_));
    }
  }

  void send_down(int s) {
    // The child nearest to the end of the operands leads the largest part of a binomial tree, so it
    // comes first.
    for (auto child = position_.children.rbegin(); child != position_.children.rend(); ++child) {
      to_children_.push_back(call_.send(child->rank, bytes_of(segment(s)), lane_));
    }
  }

  CollectiveCall& call_;
  const Lane lane_;
  const Position position_;
  const View data_;
  const ReduceOp op_;
  const int segments_;
  const std::span<std::byte> scratch_;
  std::vector<std::deque<CollectiveCall::Message>> from_children_;
  std::vector<CollectiveCall::Message> to_parent_;
  std::vector<CollectiveCall::Message> from_parent_;
  std::vector<CollectiveCall::Message> to_children_;
};

// Runs all flows. They alternate segment by segment, in the same order on all ranks.
void run_flows(std::span<TreeFlow* const> flows) {
  int segments = 0;
  for (const TreeFlow* flow : flows) segments = std::max(segments, flow->segments());
  for (const auto act : {&TreeFlow::up, &TreeFlow::expect_down, &TreeFlow::down}) {
    for (int s = 0; s < segments; ++s) {
      for (TreeFlow* flow : flows) {
        if (s < flow->segments()) (flow->*act)(s);
      }
    }
  }
  for (TreeFlow* flow : flows) flow->finish();
}

TreeFlow::Position position_in(const DoubleTree& trees, int tree) {
  const TreePlace in_tree = trees.place(tree);
  TreeFlow::Position result{in_tree.parent, {}};
  if (in_tree.left >= 0) result.children.push_back({in_tree.left, ReceiveAction::reduce_left});
  if (in_tree.right >= 0) result.children.push_back({in_tree.right, ReceiveAction::reduce_right});
  return result;
}

}  // namespace

// By the data alone, the root would complete before its grandchildren have entered. The barrier
// beside them keeps every rank until all have entered. It costs little, because it runs at the same
// time.
void tree_broadcast(CollectiveCall& call, View data, int root, const SegmentLimits& limits) {
  const BinomialTree tree(call.rank(), call.size(), root);
  const int segments = segment_count(data.bytes(), limits);
  const auto segment = [&](int s) {
    return bytes_of(part_of(data, segment_of({.count = data.count}, segments, s)));
  };
  Barrier barrier(call);
  call.expect(tree.is_root() ? 0 : data.bytes());
  std::vector<CollectiveCall::Message> receives;
  std::vector<CollectiveCall::Message> sends;
  if (!tree.is_root()) {
    for (int s = 0; s < segments; ++s) receives.push_back(call.receive(tree.parent(), segment(s)));
  }
  for (int s = 0; s < segments; ++s) {
    if (!tree.is_root()) call.wait(receives[static_cast<std::size_t>(s)]);
    for (int i = 0; i < tree.children(); ++i) {
      sends.push_back(call.send(tree.child(i), segment(s)));
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
