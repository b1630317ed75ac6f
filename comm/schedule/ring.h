// The ring: each rank sends to the next rank and receives from the previous one. It sends the
// fewest possible bytes, and every link carries the same load at every step. Its number of steps
// grows with the number of ranks. It suits long vectors.
//
// reduce-scatter, 4 ranks. A cell is a block of a rank's data and shows the ranks whose data it
// holds; * = arrived and reduced in this step:
//
//            block 0   block 1   block 2   block 3
//   rank 0      0         0         03*       0       step 0: rank r sends block r-1 to r+1,
//   rank 1      1         1         1         01*             which adds its own data
//   rank 2      12*       2         2         2
//   rank 3      3         23*       3         3
//
//   rank 0      0         023*      03        0       step 1: the reduced block is sent on
//   rank 1      1         1         013*      01
//   rank 2      12        2         2         012*
//   rank 3      123*      23        3         3
//
//   rank 0      0123*     023       03        0       step 2: block r is complete on rank r
//   rank 1      1         0123*     013       01
//   rank 2      12        2         0123*     012
//   rank 3      123       23        3         0123*
//
// all-gather sends in the same direction: at step 0 rank r sends block r, and at each later step
// the block that it has just received. all-reduce is a reduce-scatter and then an all-gather. Each
// block is reduced along one path (block b in the order b+1, b+2, ..., b) and then copied, so all
// ranks hold the same bits.
//
// Cost for P ranks and S bytes (alpha: latency of a message, beta: seconds to send a byte, gamma:
// seconds to reduce a byte):
//   reduce-scatter  P-1 steps     (P-1)/P S sent     (P-1) alpha +  (P-1)/P S (beta + gamma)
//   all-gather      P-1 steps     (P-1)/P S sent     (P-1) alpha +  (P-1)/P S beta
//   all-reduce      2(P-1) steps  2 (P-1)/P S sent   their sum
//
// Source: P. Patarasu, X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
// workstations", JPDC 69 (2009); R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective
// Communication Operations in MPICH", IJHPCA 19 (2005).
#pragma once

#include "base/check.h"

namespace bp {

struct RingStep {
  int send_block = 0;     // to next()
  int receive_block = 0;  // from previous(); never the block sent in this step
  bool reduce = false;    // reduce the received data into this rank's block; else replace the block
};

// The steps of one rank. The block sent at a step is the one received at the step before, so a rank
// may send a segment as soon as that segment has arrived and is reduced. The block received at
// all-gather step k is the one sent at reduce-scatter step k, so when both use the same memory, its
// receive may be posted once that send is complete.
class Ring {
 public:
  Ring(int rank, int ranks) : rank_(rank), ranks_(ranks) {
    BP_CHECK(ranks >= 1 && rank >= 0 && rank < ranks, "a ring needs a rank among its ranks");
  }

  [[nodiscard]] int next() const { return wrap(rank_ + 1); }
  [[nodiscard]] int previous() const { return wrap(rank_ - 1); }

  [[nodiscard]] int reduce_scatter_steps() const { return ranks_ - 1; }
  [[nodiscard]] int all_gather_steps() const { return ranks_ - 1; }
  [[nodiscard]] int all_reduce_steps() const { return 2 * (ranks_ - 1); }

  // After the last step, block `rank` is complete on this rank; its other blocks are partly
  // reduced.
  [[nodiscard]] RingStep reduce_scatter_step(int k) const {
    return {
        .send_block = wrap(rank_ - 1 - k), .receive_block = wrap(rank_ - 2 - k), .reduce = true};
  }
  // Before the first step, block `rank` must be complete on this rank.
  [[nodiscard]] RingStep all_gather_step(int k) const {
    return {.send_block = wrap(rank_ - k), .receive_block = wrap(rank_ - 1 - k)};
  }
  [[nodiscard]] RingStep all_reduce_step(int k) const {
    const int scatter = reduce_scatter_steps();
    return k < scatter ? reduce_scatter_step(k) : all_gather_step(k - scatter);
  }

 private:
  // Every step has -ranks_ <= index < 2 ranks_.
  [[nodiscard]] int wrap(int index) const { return (index + 2 * ranks_) % ranks_; }

  int rank_;
  int ranks_;
};

}  // namespace bp
