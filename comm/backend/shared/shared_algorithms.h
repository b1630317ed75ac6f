// The collectives of ranks that share memory. They send nothing: each rank announces where its
// vector lies, reads the others' there, and writes the result to where it belongs
// (shared_vectors.h).
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "bp/collective.h"
#include "comm/backend/network/exchange.h"
#include "comm/backend/shared/shared_vectors.h"

namespace bp {

void shared_all_reduce(SharedVectors& vectors, CollectiveCall& call, View data, ReduceOp op);
// One barrier, which carries all vectors: at most PhaseBarrier::kInlineBytes each. The result goes
// to `root`, or to every rank.
void shared_inline_reduce(SharedVectors& vectors,
                          CollectiveCall& call,
                          View data,
                          ReduceOp op,
                          std::optional<int> root = {});
// counts[r] elements for rank r. In place: this rank's block of `input` may be `output`.
void shared_reduce_scatter(SharedVectors& vectors,
                           CollectiveCall& call,
                           ConstView input,
                           View output,
                           std::span<const std::size_t> counts,
                           ReduceOp op);
// counts[r] elements of rank r, which are its `input`. In place: `input` may be its block of
// `data`.
void shared_all_gather(SharedVectors& vectors,
                       CollectiveCall& call,
                       ConstView input,
                       View data,
                       std::span<const std::size_t> counts);
void shared_broadcast(SharedVectors& vectors, CollectiveCall& call, View data, int root);
void shared_reduce(SharedVectors& vectors, CollectiveCall& call, View data, ReduceOp op, int root);
// `input_bytes`: of the whole input of this rank.
void shared_exchange(SharedVectors& vectors,
                     CollectiveCall& call,
                     const Exchange& exchange,
                     std::size_t input_bytes);

}  // namespace bp
