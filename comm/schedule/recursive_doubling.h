// Recursive doubling: at step k each rank exchanges its whole vector with the rank whose number
// differs in bit k, and reduces. It takes the fewest possible steps, but every step sends the whole
// vector. It suits short vectors.
//
// all-reduce, 4 ranks; a cell shows the ranks whose data a vector holds:
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
// If P is not a power of two, ranks fold first (folding.h), and C of them remain:
//
//   rank          0       1       2       3       4       5
//   fold          0 ----> 1       2 ----> 3       4       5
//                         01              23      4       5        doubling among these 4
//   unfold        R <---- R       R <---- R       R       R
//
// Cost for P ranks and S bytes (alpha, beta, gamma as in ring.h):
//   P = 2^k   log2 P steps      S log2 P sent     log2 P (alpha + S beta + S gamma)
//   else      log2 C + 2 steps                    (log2 C + 2)(alpha + S beta)
//                                                     + (log2 C + 1) S gamma
//
// Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication
// Operations in MPICH", IJHPCA 19 (2005), 4.4.
#pragma once

#include "comm/schedule/folding.h"

namespace bp {

// What a rank does with its whole vector at one step. The defaults mean that it sits out.
struct DoublingStep {
  int peer = -1;
  bool send = false;  // the vector with its values from before the step
  ReceiveAction received = ReceiveAction::none;
};

class RecursiveDoubling {
 public:
  RecursiveDoubling(int rank, int ranks) : folding_(rank, ranks) {}

  // The same number on all ranks. Step k of a rank matches step k of its peer.
  [[nodiscard]] int steps() const { return folding_.doublings() + (folding_.any() ? 2 : 0); }

  [[nodiscard]] DoublingStep step(int k) const {
    if (folding_.any() && k == 0) {
      if (folding_.sits_out()) return {folding_.partner(), true, ReceiveAction::none};
      if (folding_.is_folded()) return {folding_.partner(), false, ReceiveAction::reduce_left};
      return {};
    }
    if (folding_.any() && k == steps() - 1) {
      if (folding_.sits_out()) return {folding_.partner(), false, ReceiveAction::replace};
      if (folding_.is_folded()) return {folding_.partner(), true, ReceiveAction::none};
      return {};
    }
    if (folding_.sits_out()) return {};
    const int own = folding_.number();
    const int peer = own ^ (1 << (folding_.any() ? k - 1 : k));
    return {folding_.rank_of(peer), true,
            own < peer ? ReceiveAction::reduce_right : ReceiveAction::reduce_left};
  }

 private:
  Folding folding_;
};

}  // namespace bp
