// How often hosts exchange what they learn: an option of DistributedOptimizer.
#pragma once

#include <chrono>
#include <cstdint>

#include "bp/export.h"

namespace BP_API bp {

// What a round makes of the hosts' weights. x: the weights after the last round, the same on all
// hosts. x_i: those of host i now. w_i: the weights that it gave to backward() since.
//
//   d = sum(w_i (x - x_i)) / sum(w_i)
//   b = momentum * b + d
//   x = x - rate * b                     or, with nesterov, x - rate * (d + momentum * b)
struct OuterRule {
  double rate = 1;
  double momentum = 0;
  bool nesterov = false;
  bool operator==(const OuterRule&) const = default;
};

inline constexpr OuterRule kLocalSgd = {};                        // the mean of the weights
inline constexpr OuterRule kBlockMomentum = {.momentum = 0.875};  // BMUF (Chen and Huo 2016)
inline constexpr OuterRule kDiLoCo = {.rate = 0.7, .momentum = 0.9, .nesterov = true};

// By default all ranks reduce the gradient of each step. Otherwise only the ranks of a host do, and
// each host trains for itself from one *round* to the next, in which the hosts exchange weights. A
// host counts by the rows that it has trained on, and one without rows does not. All hosts call
// step() the same number of times.
//
// With `fragments` the hosts exchange a part of the weights in a round, about as large as the
// others, and each part once in `every` steps. With `late` they train on while a round's weights
// travel, up to the next round. Then the host's weights become x of the formula, less what it has
// learned since it sent its own. In neither case are the hosts' weights ever the same, but after
// synchronise().
//
// Each host keeps the state of its wrapped optimizer. Norm, clipping, overflow, the fields of
// Window and the comparison of parameters are those of the host, between rounds; round() has the
// totals of all. Of a parameter with sparse gradients, the rows travel that got a gradient on some
// host. What weight decay or old momentum did to other rows since the last round is undone.
//
// One copy of the parameters, and one more with momentum, is kept in each host's memory, and the
// first rank of the host one for what travels, with `late` two. `wire` is the type in which the
// difference travels between hosts; inside a host gradients then travel in their own type. A
// difference is rounded on its way as a gradient is.
//
// It does not go with join(), with step(closure), with error feedback, and, on several hosts, not
// with a Shard that all hosts divide.
struct Sync {
  std::int64_t every = 1;  // steps from one round to the next one with the same weights
  // Instead of `every`: as many steps as the slowest host makes in this time. The first round
  // follows the first step, and each round settles the number for the next one. 0: `every`.
  std::chrono::milliseconds interval{0};
  OuterRule outer = {};
  bool late = false;  // with one host, nothing is late
  int fragments = 1;  // from 1 to kMostFragments, and not more than `every`

  // Whether each step's gradient is reduced over all ranks. The mean of the weights after each step
  // is that, but for rounding and for optimizers that are not linear in the gradient.
  [[nodiscard]] bool is_each_step() const {
    return every == 1 && interval.count() == 0 && outer == kLocalSgd && !late;
  }
};

inline constexpr int kMostFragments = 16;

}  // namespace bp
