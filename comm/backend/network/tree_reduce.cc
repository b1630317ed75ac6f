// The reduction to one rank: the binomial tree of a broadcast, upwards. A subtree is a range of
// consecutive ranks, so a rank that begins with its smallest child reduces in the order of the
// ranks, counted from the root.
#include <array>

#include "comm/backend/network/algorithms.h"
#include "comm/reduce/reduce.h"
#include "comm/schedule/binomial_tree.h"

namespace bp {
namespace {

constexpr int kInFlight = 4;  // segments in flight from each child

// The segments of one rank: of its own vector, of what its children send, and of what it sends up.
class TreeReduction {
 public:
  TreeReduction(
      CollectiveCall& call, const View& data, ReduceOp op, int root, const SegmentLimits& limits)
      : call_(call),
        data_(data),
        op_(op),
        tree_(call.rank(), call.size(), root),
        segments_(segment_count(data.bytes(), limits)),
        longest_(segment(0).count * size_of(data.type)),
        receives_(static_cast<std::size_t>(tree_.children()) * kInFlight),
        landing_(call.scratch((receives_.size() + kInFlight) * longest_)) {}

  void run() {
    call_.expect(static_cast<std::size_t>(tree_.children()) * data_.bytes());
    for (int s = 0; s < kInFlight; ++s) post_receives(s);
    for (int s = 0; s < segments_; ++s) {
      CollectiveCall::Message& up = sends_[static_cast<std::size_t>(s % kInFlight)];
      call_.wait(up);  // its memory is used again
      const std::byte* const sum = reduce_segment(s);
      if (tree_.is_root()) continue;
      up = call_.send(tree_.parent(), {sum, segment(s).count * size_of(data_.type)});
    }
    for (int s = segments_; s < segments_ + kInFlight; ++s) {
      call_.wait(sends_[static_cast<std::size_t>(s % kInFlight)]);
    }
  }

 private:
  [[nodiscard]] Block segment(int s) const {
    return segment_of({.count = data_.count}, segments_, s);
  }
  // Child 0 is the one with the smallest subtree.
  [[nodiscard]] int child(int i) const { return tree_.child(tree_.children() - 1 - i); }
  [[nodiscard]] std::size_t slot(int i, int s) const {
    return static_cast<std::size_t>(i) * kInFlight + static_cast<std::size_t>(s % kInFlight);
  }
  [[nodiscard]] std::byte* memory(std::size_t slot) const {
    return landing_.data() + slot * longest_;
  }

  void post_receives(int s) {
    if (s >= segments_) return;
    const std::size_t bytes = segment(s).count * size_of(data_.type);
    for (int i = 0; i < tree_.children(); ++i) {
      receives_[slot(i, s)] = call_.receive(child(i), {memory(slot(i, s)), bytes});
    }
  }

  // Makes segment s of the reduction over this rank's subtree. The root has it in its own memory.
  const std::byte* reduce_segment(int s) {
    const Block part = segment(s);
    std::byte* const own = data_.data + part.offset * size_of(data_.type);
    std::byte* const into = tree_.is_root() ? own : memory(slot(tree_.children(), s));
    const std::byte* sum = own;
    for (int i = 0; i < tree_.children(); ++i) {
      call_.wait(receives_[slot(i, s)]);
      reduce_to(data_.type, op_, into, sum, memory(slot(i, s)), part.count);
      sum = into;
    }
    post_receives(s + kInFlight);
    if (tree_.is_root() && op_ == ReduceOp::average) {
      finish_average(data_.type, own, part.count, call_.size());
    }
    return sum;
  }

  CollectiveCall& call_;
  const View data_;
  const ReduceOp op_;
  const BinomialTree tree_;
  const int segments_;
  const std::size_t longest_;  // segment, in bytes
  std::vector<CollectiveCall::Message> receives_;
  std::array<CollectiveCall::Message, kInFlight> sends_;
  const std::span<std::byte> landing_;
};

}  // namespace

// As in a broadcast, the barrier beside it keeps the leaves until all ranks have entered.
void tree_reduce(
    CollectiveCall& call, View data, ReduceOp op, int root, const SegmentLimits& limits) {
  Barrier barrier(call);
  TreeReduction(call, data, op, root, limits).run();
  barrier.finish();
}

}  // namespace bp
