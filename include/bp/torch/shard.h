// How much of the training state ranks shard: an option of DistributedOptimizer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "bp/export.h"

namespace BP_API bp {

// `none`: each rank keeps and updates everything.
//
// `host`: the ranks of a host keep one copy of the parameters and of the wrapped optimizer's state
// together, in shared memory. Each rank updates its own part of each parameter. The results have
// the same bits as those of `none`.
//
// `optimizer`: the same, but the ranks of all hosts divide the state and the updates. Each rank
// gets the summed gradient of its own part only. The hosts exchange the updated parameters after
// each step. With up to two hosts the results have the bits of `none`, with more the order of
// additions is another one.
//
// `gradients`: moreover, a bucket's memory is freed as soon as its sums are there, but for this
// rank's part, and that at the end of the window. So in the last micro-batch of a window a rank has
// the gradients of few buckets at a time. (The memory of whole gradients lasts from the first
// micro-batch to the last.) It costs the time in which the system makes new pages, and does not go
// with error feedback.
//
// `parameters`: moreover, a host has the parameters of the model's layers, which you name in
// DistributedOptimizerOptions::layers, in parts too, and the whole ones of the layer that is in use
// and of the one that follows (enter_layer() of DistributedOptimizer). It sends them twice in a
// step, before the forward and the backward pass. The results have the bits of `gradients`.
//
// `automatic`: `host`, or `none` where that is not possible. On one host `host` is `optimizer`.
//
// It is for optimizers that treat each element by itself: SGD, Adam, AdamW, RMSprop and Adagrad of
// LibTorch, and those of your own that say so, which may need sums over whole parameters, too
// (bp/torch/elementwise.h). `host` needs ranks that share memory (communicator.h). A rank that
// shares none with others counts as a host of its own: with the backend "gloo", and on a device.
// Parameters on a device can have `optimizer` only, because a device has no pages that bp could
// give back. Each rank then has its part of the state on its device. Anything else is refused by
// name.
//
// Where ranks share memory, the constructor gives all ranks rank 0's parameters, and the destructor
// each rank its own again. In between, the program must write a parameter on one rank of each host
// only, or replace its memory (set_data()). On a device begin with broadcast_parameters(), as with
// `none`. Between reduce() and step() the gradient that a parameter shows is the mean
// in this rank's part only, and may not be replaced. With `optimizer` and `gradients` on several
// hosts the state is in parts, as step() needs it, until DistributedOptimizer::gather_state(), and
// with `layers` so are parameters, until gather_parameters(); stream_state() brings both in pieces.
// clip_grad_norm() is a collective. Parameters with sparse gradients and their state stay whole on
// each rank, unless the optimizer divides rows (RowSharing). If step() throws, parameters may be
// partly updated.
enum class Shard : std::uint8_t { none, host, optimizer, gradients, parameters, automatic };

// Whether a rank frees the gradients that others own.
[[nodiscard]] constexpr bool frees_gradients(Shard shard) {
  return shard == Shard::gradients || shard == Shard::parameters;
}

// Whether the ranks of all hosts divide something.
[[nodiscard]] constexpr bool divides_among_hosts(Shard shard) {
  return shard == Shard::optimizer || frees_gradients(shard);
}

[[nodiscard]] constexpr std::string_view name_of(Shard shard) {
  constexpr std::array<std::string_view, 6> kNames = {"none",      "host",       "optimizer",
                                                      "gradients", "parameters", "automatic"};
  return kNames.at(static_cast<std::size_t>(shard));
}

}  // namespace bp
