#include "comm/backend/tree_flow.h"

#include <algorithm>
#include <utility>

#include "comm/backend/parts.h"
#include "comm/reduce/reduce.h"

namespace bp {
namespace {

std::size_t longest_segment(const View& data, const SegmentLimits& limits) {
  const int segments = segment_count(data.bytes(), limits);
  return segment_of({0, data.count}, segments, 0).count * size_of(data.type);
}

}  // namespace

std::size_t TreeFlow::scratch_bytes(const Position& position,
                                    const View& data,
                                    const SegmentLimits& limits) {
  return position.children.size() * kWindow * longest_segment(data, limits);
}

std::size_t TreeFlow::bytes_received(const Position& position, const View& data) {
  return (position.children.size() + (position.parent < 0 ? 0 : 1)) * data.bytes();
}

TreeFlow::TreeFlow(CollectiveCall& call,
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

View TreeFlow::segment(int s) const {
  return part_of(data_, segment_of({0, data_.count}, segments_, s));
}

std::span<std::byte> TreeFlow::landing(std::size_t child, int s) const {
  const std::size_t room = scratch_.size() / (kWindow * position_.children.size());
  const std::size_t row = child * kWindow + static_cast<std::size_t>(s) % kWindow;
  return scratch_.subspan(row * room, segment(s).bytes());
}

void TreeFlow::post_receives(int s) {
  for (std::size_t i = 0; i < position_.children.size(); ++i) {
    from_children_[i].push_back(call_.receive(position_.children[i].rank, landing(i, s), lane_));
  }
}

void TreeFlow::send_down(int s) {
  // The child nearest to the end of the operands leads the largest part of a binomial tree, so it
  // comes first.
  for (auto child = position_.children.rbegin(); child != position_.children.rend(); ++child) {
    to_children_.push_back(call_.send(child->rank, bytes_of(segment(s)), lane_));
  }
}

void TreeFlow::up(int s) {
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
void TreeFlow::expect_down(int s) {
  if (position_.parent < 0) return;
  call_.wait(to_parent_[static_cast<std::size_t>(s)]);
  from_parent_.push_back(call_.receive(position_.parent, bytes_of(segment(s)), lane_));
}

void TreeFlow::down(int s) {
  if (position_.parent < 0) return;
  call_.wait(from_parent_[static_cast<std::size_t>(s)]);
  send_down(s);
}

void TreeFlow::finish() {
  for (CollectiveCall::Message& message : to_children_) call_.wait(message);
}

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

}  // namespace bp
