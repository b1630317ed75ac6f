#include <algorithm>
#include <vector>

#include "comm/backend/network/algorithms.h"
#include "comm/reduce/reduce.h"
#include "comm/schedule/halving_doubling.h"

namespace bp {
namespace {

bool is_reduced(ReceiveAction received) {
  return received == ReceiveAction::reduce_left || received == ReceiveAction::reduce_right;
}

class HalvingAllReduce {
 public:
  HalvingAllReduce(CollectiveCall& call, const View& data, ReduceOp op, const SegmentLimits& limits)
      : call_(call), data_(data), op_(op), limits_(limits), schedule_(call.rank(), call.size()) {
    std::size_t all = 0;
    std::size_t longest = 0;  // message that is reduced
    for (int k = 0; k < schedule_.steps(); ++k) {
      const HalvingStep step = schedule_.step(k);
      const std::size_t bytes = part(step.receive).bytes();
      all += bytes;
      if (is_reduced(step.received)) longest = std::max(longest, bytes);
    }
    call_.expect(all);
    scratch_ = call_.scratch(longest);
  }

  void run() {
    for (int k = 0; k < schedule_.steps(); ++k) {
      if (k == schedule_.first_copying_step()) finish_own_block();
      exchange(schedule_.step(k));
    }
  }

 private:
  [[nodiscard]] View part(const BlockRange& range) const {
    if (range.count == 0) return {data_.data, 0, data_.type};
    const Block first = block_of(data_.count, schedule_.blocks(), range.first);
    const Block last = block_of(data_.count, schedule_.blocks(), range.first + range.count - 1);
    return part_of(data_,
                   {.offset = first.offset, .count = last.offset + last.count - first.offset});
  }

  // In segments, so that one is reduced while the next are in flight.
  template <class Do>
  void for_segments(const View& view, const Do& act) const {
    const int segments = segment_count(view.bytes(), limits_);
    for (int s = 0; s < segments; ++s) act(segment_of({.count = view.count}, segments, s));
  }

  void exchange(const HalvingStep& step) {
    const std::size_t element = size_of(data_.type);
    const View into = part(step.receive);
    const View from = part(step.send);
    std::vector<CollectiveCall::Message> receives;
    std::vector<CollectiveCall::Message> sends;
    if (step.receive.count > 0) {
      for_segments(into, [&](const Block& block) {
        receives.push_back(call_.receive(
            step.peer, is_reduced(step.received)
                           ? scratch_.subspan(block.offset * element, block.count * element)
                           : bytes_of(part_of(into, block))));
      });
    }
    if (step.send.count > 0) {
      for_segments(from, [&](const Block& block) {
        sends.push_back(call_.send(step.peer, bytes_of(part_of(from, block))));
      });
    }
    if (step.receive.count > 0) {
      auto next = receives.begin();
      for_segments(into, [&](const Block& block) {
        call_.wait(*next++);
        if (!is_reduced(step.received)) return;
        apply_received(step.received, part_of(into, block), op_,
                       scratch_.subspan(block.offset * element).data());
      });
    }
    for (CollectiveCall::Message& message : sends) {
      call_.wait(message);  // before its memory changes
    }
  }

  // Its owner divides each block once, and all other ranks get a copy.
  void finish_own_block() const {
    if (op_ != ReduceOp::average || schedule_.own_block() < 0) return;
    const View own = part({.first = schedule_.own_block(), .count = 1});
    finish_average(own.type, own.data, own.count, call_.size());
  }

  CollectiveCall& call_;
  const View data_;
  const ReduceOp op_;
  const SegmentLimits limits_;
  const HalvingDoubling schedule_;
  std::span<std::byte> scratch_;
};

}  // namespace

void halving_all_reduce(CollectiveCall& call, View data, ReduceOp op, const SegmentLimits& limits) {
  HalvingAllReduce(call, data, op, limits).run();
}

}  // namespace bp
