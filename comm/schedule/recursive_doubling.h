// Recursive doubling: at step k each rank swaps its whole vector with the rank whose number differs
// in bit k, and reduces. As few steps as can be, but every step carries everything. Used for what
// is short.
//
// all-reduce, 4 ranks; a cell shows whose data the rank's vector holds:
//
//   rank          0       1       2       3
//   step 0        0 <---> 1       2 <---> 3        distance 1
//                 01      01      23      23
//   step 1        01 <----------> 23               distance 2 (and 1 with 3)
//                 0123    0123    0123    0123
//
// Both partners compute "vector of the lower half reduced with vector of the upper half", in that
// order, so all ranks hold the same bits, whatever the reduction does with NaNs.
//
// Where P is no power of two, P = C + F with C the largest one below: the first 2F ranks fold in
// pairs. Even ranks give their vector to the odd one above, sit out, and get the result at the end.
// 6 ranks (C = 4, F = 2):
//
//   rank          0       1       2       3       4       5
//   fold          0 ----> 1       2 ----> 3       4       5
//                         01              23      4       5        doubling among these 4
//   unfold        R <---- R       R <---- R       R       R
//
// Cost for P ranks and S bytes (alpha, beta, gamma as in ring.h):
//   P = 2^k   log2 P steps      S log2 P sent     log2 P (alpha + S beta + S gamma)
//   else      log2 C + 2 steps                    (log2 C + 2)(alpha + S beta) + (log2 C + 1) S
//   gamma
//
// Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication
// Operations in MPICH", IJHPCA 19 (2005), 4.4; the folding is theirs.
#pragma once

#include <bit>
#include <cstdint>

#include "comm/base/check.h"

namespace bp {

enum class Received : std::uint8_t {
  nothing,   // no receive at this step
  replaces,  // it is the vector now
  lower,     // vector = received op vector
  upper,     // vector = vector op received
};

// What a rank does with its whole vector at one step. All defaults: it sits out.
struct DoublingStep {
  int peer = -1;
  bool send = false;  // the vector as it was before the step
  Received received = Received::nothing;
};

class RecursiveDoubling {
 public:
  RecursiveDoubling(int rank, int ranks)
      : rank_(rank),
        core_(static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)))),
        folded_(ranks - core_) {
    BP_CHECK(ranks >= 1 && rank >= 0 && rank < ranks, "doubling needs a rank among its ranks");
  }

  // The same on all ranks; step k of one rank meets step k of its peer.
  [[nodiscard]] int steps() const { return doublings() + (folded_ > 0 ? 2 : 0); }

  [[nodiscard]] DoublingStep step(int k) const {
    const bool pairs = rank_ < 2 * folded_;
    const bool outside = pairs && rank_ % 2 == 0;
    if (folded_ > 0 && k == 0) {
      if (outside) return {rank_ + 1, true, Received::nothing};
      return pairs ? DoublingStep{rank_ - 1, false, Received::lower} : DoublingStep{};
    }
    if (folded_ > 0 && k == steps() - 1) {
      if (outside) return {rank_ + 1, false, Received::replaces};
      return pairs ? DoublingStep{rank_ - 1, true, Received::nothing} : DoublingStep{};
    }
    if (outside) return {};
    const int distance = 1 << (folded_ > 0 ? k - 1 : k);
    const int own = pairs ? rank_ / 2 : rank_ - folded_;  // number among the core_ that double
    const int peer = own ^ distance;
    return {rank_of_core(peer), true, own < peer ? Received::upper : Received::lower};
  }

 private:
  [[nodiscard]] int doublings() const { return std::countr_zero(static_cast<unsigned>(core_)); }
  [[nodiscard]] int rank_of_core(int number) const {
    return number < folded_ ? 2 * number + 1 : number + folded_;
  }

  int rank_;
  int core_;    // how many ranks double: the largest power of two that is not above ranks
  int folded_;  // how many give their vector to a neighbour first
};

}  // namespace bp
