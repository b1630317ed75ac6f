// The dissemination barrier: at step k each rank sends a message to the rank 2^k above it (modulo
// the number of ranks). The message says that the sender, and all ranks that it knows of, have
// entered. 4 ranks; a cell shows the ranks that are known to have entered:
//
//   rank             0        1        2        3
//   step 0  (+1)     03       01       12       23
//   step 1  (+2)     0123     0123     0123     0123
//
// It works for any number of ranks: to learn of the same rank twice does no harm.
//
// Cost for P ranks: ceil(log2 P) steps of one empty message each; ceil(log2 P) alpha.
//
// Source: D. Hensgen, R. Finkel, U. Manber, "Two algorithms for barrier synchronization",
// International Journal of Parallel Programming 17 (1988).
#pragma once

#include <bit>

#include "base/check.h"

namespace bp {

struct DisseminationStep {
  int send_to = 0;
  int receive_from = 0;  // the step ends when this message has arrived
};

class Dissemination {
 public:
  Dissemination(int rank, int ranks) : rank_(rank), ranks_(ranks) {
    BP_CHECK(ranks >= 1 && rank >= 0 && rank < ranks, "a barrier needs a rank among its ranks");
  }

  [[nodiscard]] int steps() const {
    return static_cast<int>(std::bit_width(static_cast<unsigned>(ranks_ - 1)));
  }
  [[nodiscard]] DisseminationStep step(int k) const {
    const int distance = 1 << k;  // less than ranks_
    return {.send_to = (rank_ + distance) % ranks_,
            .receive_from = (rank_ - distance + ranks_) % ranks_};
  }

 private:
  int rank_;
  int ranks_;
};

}  // namespace bp
