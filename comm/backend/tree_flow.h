// A vector on its way up a tree, reduced at every rank, and down again as it was finished on top;
// in segments, so that all levels of the tree are at work at once.
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
        ReceiveAction::reduce_right;  // lower or upper: its place in the order of operands
  };
  // Children in the order in which they are reduced.
  struct Place {
    int parent = -1;  // none: on top
    std::vector<Child> children;
  };

  static constexpr std::size_t kWindow = 3;  // receives in flight from each child
  // What a flow needs for segments that are to be reduced.
  [[nodiscard]] static std::size_t scratch_bytes(const Place& place,
                                                 const View& data,
                                                 const SegmentLimits& limits);

  [[nodiscard]] static std::size_t bytes_received(const Place& place, const View& data);

  // `scratch`: as many bytes as scratch_bytes(). `call` and it must outlive the flow. Flows of one
  // call take a lane each, for two trees may join the same two ranks.
  TreeFlow(CollectiveCall& call,
           Lane lane,
           Place place,
           const View& data,
           ReduceOp op,
           const SegmentLimits& limits,
           std::span<std::byte> scratch);

  [[nodiscard]] int segments() const { return segments_; }
  // For s = 0, 1, ..., segments() - 1 each: all ups, then all expect_downs, then all downs.
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
  const Place place_;
  const View data_;
  const ReduceOp op_;
  const int segments_;
  const std::span<std::byte> scratch_;
  std::vector<std::deque<CollectiveCall::Message>> from_children_;
  std::vector<CollectiveCall::Message> to_parent_;
  std::vector<CollectiveCall::Message> from_parent_;
  std::vector<CollectiveCall::Message> to_children_;
};

// All of them, by turns segment by segment, which is the same order on all ranks.
void run_flows(std::span<TreeFlow* const> flows);

}  // namespace bp
