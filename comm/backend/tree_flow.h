// Moves a vector up a tree, reducing it at every rank, and moves the result down again; in
// segments, so that all levels of the tree are busy at once.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "comm/backend/collective_call.h"
#include "comm/schedule/folding.h"
#include "comm/schedule/segments.h"

namespace bp {

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
                                                 const SegmentLimits& limits);

  [[nodiscard]] static std::size_t bytes_received(const Position& position, const View& data);

  // `scratch`: scratch_bytes() bytes. It and `call` must outlive the flow. Each flow of a call
  // needs its own lane, because two trees may connect the same two ranks.
  TreeFlow(CollectiveCall& call,
           Lane lane,
           Position position,
           const View& data,
           ReduceOp op,
           const SegmentLimits& limits,
           std::span<std::byte> scratch);

  [[nodiscard]] int segments() const { return segments_; }
  // The caller must call up() for s = 0, 1, ..., segments() - 1, then expect_down() for each, then
  // down() for each, then finish().
  void up(int s);
  void expect_down(int s);
  void down(int s);
  void finish();

 private:
  [[nodiscard]] View segment(int s) const;
  [[nodiscard]] std::span<std::byte> landing(std::size_t child, int s) const;
  void post_receives(int s);
  void send_down(int s);

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
void run_flows(std::span<TreeFlow* const> flows);

}  // namespace bp
