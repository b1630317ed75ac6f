// The algorithms of the CPU backend. Each carries out a schedule of comm/schedule with messages.
//
// Two rules hold for all of them. Sizes are equal by construction: both ends of a message compute
// its length from the arguments, on which all ranks agree, since otherwise they would not share a
// slot. And no rank completes before all have entered with the same arguments: every algorithm's
// result depends on a message from every rank, if only an empty one. So no rank takes a
// disagreement for a success.
#pragma once

#include <span>
#include <vector>

#include "bp/collective.h"
#include "comm/backend/common/algorithm.h"
#include "comm/backend/common/collective_call.h"
#include "comm/schedule/dissemination.h"
#include "comm/schedule/folding.h"
#include "comm/schedule/segments.h"

namespace bp {

// Parts of the vector of a collective, and what becomes of a part that was received.
[[nodiscard]] inline View part_of(const View& whole, const Block& block) {
  return {whole.data + block.offset * size_of(whole.type), block.count, whole.type};
}
[[nodiscard]] inline std::span<std::byte> bytes_of(const View& view) {
  return {view.data, view.bytes()};
}

// Reduces `data.count` elements at `received` into `data`, in the operand order that `how` gives.
// Does nothing for `none` and for `replace`, whose elements were received straight into `data`.
void apply_received(ReceiveAction how, const View& data, ReduceOp op, const std::byte* received);

// Returns the block of rank r in a vector of blocks with these counts.
[[nodiscard]] Block gathered_block(std::span<const std::size_t> counts, int r);
// Returns the counts of the blocks that block_of() cuts.
[[nodiscard]] std::vector<std::size_t> even_counts(std::size_t count, int ranks);

// Runs one of the algorithms below. `algorithm` must not be automatic or hierarchical.
void all_reduce_by(
    Algorithm algorithm, CollectiveCall& call, View data, ReduceOp op, const SegmentLimits& limits);

// comm/schedule/ring.h. For any number of bytes; best for many.
void ring_all_reduce(CollectiveCall& call, View data, ReduceOp op, const SegmentLimits& limits);
// counts[r] elements for rank r. `output` may be this rank's block of `input`.
void ring_reduce_scatter(CollectiveCall& call,
                         ConstView input,
                         View output,
                         std::span<const std::size_t> counts,
                         ReduceOp op,
                         const SegmentLimits& limits);
// counts[r] elements from rank r. The block of this rank must be in place.
void ring_all_gather(CollectiveCall& call,
                     View data,
                     std::span<const std::size_t> counts,
                     const SegmentLimits& limits);
// comm/schedule/recursive_doubling.h. For any number of bytes; best for few.
void doubling_all_reduce(CollectiveCall& call, View data, ReduceOp op);

// comm/schedule/halving_doubling.h, in segments.
void halving_all_reduce(CollectiveCall& call, View data, ReduceOp op, const SegmentLimits& limits);

// Adds f32 as int8 (comm/reduce/int8.h), with the same bits on all ranks. Each rank adds up a piece
// of the vector and rounds the sums; the others have rounded it once. Two ranks only exchange all.
// `errors` gets what this rank's rounding has taken, f32, where it has rounded; null: nothing.
void int8_all_reduce(CollectiveCall& call, const View& data, std::byte* errors);

// comm/schedule/binomial_tree.h, up to rank 0 and down again, in segments.
void tree_all_reduce(CollectiveCall& call, View data, ReduceOp op, const SegmentLimits& limits);

// comm/schedule/double_tree.h, in segments.
void double_tree_all_reduce(CollectiveCall& call,
                            View data,
                            ReduceOp op,
                            const SegmentLimits& limits);

// comm/schedule/binomial_tree.h, in segments.
void tree_broadcast(CollectiveCall& call, View data, int root, const SegmentLimits& limits);
// The root's `data` becomes the reduction. That of the other ranks is only read.
void tree_reduce(
    CollectiveCall& call, View data, ReduceOp op, int root, const SegmentLimits& limits);

// comm/schedule/dissemination.h. It begins with construction, so that it can run beside other
// messages.
class Barrier {
 public:
  explicit Barrier(CollectiveCall& call);
  void finish();  // returns once all ranks have constructed theirs

 private:
  void send_step(int k);

  CollectiveCall& call_;
  Dissemination schedule_;
  std::vector<CollectiveCall::Message> receives_;
  std::vector<CollectiveCall::Message> sends_;
};

}  // namespace bp
