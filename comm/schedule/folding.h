// Folding adapts algorithms that pair ranks by the bits of their numbers to a number P of ranks
// that is not a power of two. P = C + F, where C is the largest power of two that is at most P. The
// first 2F ranks fold in pairs: the even rank sends its vector to the odd rank above it, takes no
// part in the algorithm, and receives the result at the end. The other C ranks are the core,
// numbered from 0 in the order of their ranks.
//
//   rank          0       1       2       3       4       5        6 ranks (C = 4, F = 2)
//   fold          0 ----> 1       2 ----> 3       4       5
//   core number           0               1       2       3
//   unfold        R <---- R       R <---- R       R       R
//
// Cost: two steps, of S bytes each.
//
// Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication
// Operations in MPICH", IJHPCA 19 (2005), 4.4.
#pragma once

#include <bit>
#include <cstdint>

#include "base/check.h"

namespace bp {

// What a step does with the elements that it receives.
enum class ReceiveAction : std::uint8_t {
  none,          // the step receives nothing
  replace,       // data = received
  reduce_left,   // data = received op data
  reduce_right,  // data = data op received
};

class Folding {
 public:
  Folding(int rank, int ranks)
      : rank_(rank),
        core_(static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)))),
        folded_(ranks - core_) {
    BP_CHECK(ranks >= 1 && rank >= 0 && rank < ranks, "folding needs a rank among its ranks");
  }

  [[nodiscard]] int core() const { return core_; }  // the number of ranks in the core
  [[nodiscard]] int doublings() const { return std::countr_zero(static_cast<unsigned>(core_)); }
  [[nodiscard]] bool any() const { return folded_ > 0; }  // whether any ranks fold
  [[nodiscard]] bool is_folded() const { return rank_ < 2 * folded_; }
  [[nodiscard]] bool sits_out() const { return is_folded() && rank_ % 2 == 0; }
  [[nodiscard]] int partner() const { return rank_ ^ 1; }  // only for a rank that folds
  // Returns the number in the core. Only for a rank that does not sit out.
  [[nodiscard]] int number() const { return is_folded() ? rank_ / 2 : rank_ - folded_; }
  [[nodiscard]] int rank_of(int number) const {
    return number < folded_ ? 2 * number + 1 : number + folded_;
  }

 private:
  int rank_;
  int core_;
  int folded_;
};

}  // namespace bp
