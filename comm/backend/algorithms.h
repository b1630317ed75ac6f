// The algorithms of the CPU backend: a schedule each, carried out with messages.
//
// Two rules hold for all. Sizes are equal by construction: both ends of a message compute its
// length from the arguments, on which all ranks agree or they would not share a slot. And nobody
// is through before all have entered with the same arguments: every algorithm's result depends on
// a message, be it empty, from every rank; so a disagreement is never taken for a success.
#pragma once

#include <span>
#include <vector>

#include "bp/collective.h"
#include "comm/backend/algorithm.h"
#include "comm/backend/collective_call.h"
#include "comm/schedule/dissemination.h"
#include "comm/schedule/segments.h"

namespace bp {

// One of those below; not automatic, nor hierarchical.
void all_reduce_by(
    Algorithm algorithm, CollectiveCall& call, View data, ReduceOp op, const SegmentLimits& limits);

// comm/schedule/ring.h. Any number of bytes; made for many.
void ring_all_reduce(CollectiveCall& call, View data, ReduceOp op, const SegmentLimits& limits);
// counts[r] elements for rank r. `output` may be where these lie in `input`.
void ring_reduce_scatter(CollectiveCall& call,
                         ConstView input,
                         View output,
                         std::span<const std::size_t> counts,
                         ReduceOp op,
                         const SegmentLimits& limits);
// counts[r] elements from rank r; the own block is in place already.
void ring_all_gather(CollectiveCall& call,
                     View data,
                     std::span<const std::size_t> counts,
                     const SegmentLimits& limits);
[[nodiscard]] Block gathered_block(std::span<const std::size_t> counts, int r);
// Those of block_of.
[[nodiscard]] std::vector<std::size_t> even_counts(std::size_t count, int ranks);

// comm/schedule/recursive_doubling.h. Any number of bytes; made for few.
void doubling_all_reduce(CollectiveCall& call, View data, ReduceOp op);

// comm/schedule/halving_doubling.h, in segments.
void halving_all_reduce(CollectiveCall& call, View data, ReduceOp op, const SegmentLimits& limits);

// comm/schedule/binomial_tree.h up to rank 0 and down again, in segments.
void tree_all_reduce(CollectiveCall& call, View data, ReduceOp op, const SegmentLimits& limits);

// comm/schedule/double_tree.h, in segments.
void double_tree_all_reduce(CollectiveCall& call,
                            View data,
                            ReduceOp op,
                            const SegmentLimits& limits);

// comm/schedule/binomial_tree.h, in segments.
void tree_broadcast(CollectiveCall& call, View data, int root, const SegmentLimits& limits);
// Root's `data` becomes the reduction; the others' is only read.
void tree_reduce(
    CollectiveCall& call, View data, ReduceOp op, int root, const SegmentLimits& limits);

// comm/schedule/dissemination.h. Begins with construction, so that it can go on beside others.
class Barrier {
 public:
  explicit Barrier(CollectiveCall& call);
  void finish();  // all ranks have constructed theirs

 private:
  void send_step(int k);

  CollectiveCall& call_;
  Dissemination schedule_;
  std::vector<CollectiveCall::Message> receives_;
  std::vector<CollectiveCall::Message> sends_;
};

}  // namespace bp
