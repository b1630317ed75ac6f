// The pairwise exchange: each rank has data for each other rank. At step k a rank sends to the rank
// k above it and receives from the rank k below it (modulo the number of ranks), so each rank
// receives from one rank at a time. 4 ranks:
//
//   rank             0        1        2        3
//   step 1         to 1     to 2     to 3     to 0
//   step 2         to 2     to 3     to 0     to 1
//   step 3         to 3     to 0     to 1     to 2
//
// Cost for P ranks, each with S bytes for all others together: P-1 steps; each rank sends S; (P-1)
// alpha + S beta, and no byte is sent twice. Gather and scatter are the parts of the exchange that
// end or begin at root. A tree would take ceil(log2 P) alpha, but would send each byte up to
// ceil(log2 P) times.
//
// Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication
// Operations in MPICH", IJHPCA 19 (2005), 4.3.
#pragma once

#include "base/check.h"

namespace bp {

class Pairwise {
 public:
  Pairwise(int rank, int ranks) : rank_(rank), ranks_(ranks) {
    BP_CHECK(rank >= 0 && rank < ranks, "an exchange needs a rank among its ranks");
  }

  // Steps are 1 .. steps().
  [[nodiscard]] int steps() const { return ranks_ - 1; }
  [[nodiscard]] int send_to(int step) const { return (rank_ + step) % ranks_; }
  [[nodiscard]] int receive_from(int step) const { return (rank_ - step + ranks_) % ranks_; }

 private:
  int rank_;
  int ranks_;
};

}  // namespace bp
