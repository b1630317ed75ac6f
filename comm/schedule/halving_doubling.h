// Halving-doubling (Rabenseifner's): recursive doubling that sends no more bytes than the ring. At
// each step of the first half, two partners split the range of blocks that both still reduce: each
// keeps one half and sends the other. The second half repeats the steps in reverse order and copies
// the finished blocks. It needs few steps and little traffic, but partners are far apart, and each
// block waits for whole steps. It suits vectors of medium length.
//
// all-reduce, 4 ranks; a cell shows the ranks whose data a block holds, . is not used any more:
//
//   rank                0          1          2          3
//   block               0 1 2 3    0 1 2 3    0 1 2 3    0 1 2 3
//   halve, distance 1   01 01 . .  . . 01 01  23 23 . .  . . 23 23     0 with 1, 2 with 3
//   halve, distance 2   A . . .    . . A .    . A . .    . . . A       0 with 2, 1 with 3: whole
//   double, distance 2  A A . .    . . A A    A A . .    . . A A
//   double, distance 1  A A A A    A A A A    A A A A    A A A A
//
// Near ranks, which may be on one host, exchange the longest parts. Each block is reduced in the
// order of ranks, with the same expression as in recursive doubling, and then copied, so all ranks
// hold the same bits. If P is not a power of two, ranks fold first (folding.h), with whole vectors.
//
// Cost for P ranks and S bytes (alpha, beta, gamma as in ring.h):
//   P = 2^k   2 log2 P steps      2 log2 P alpha + 2 (P-1)/P S beta + (P-1)/P S gamma
//   else      2 log2 C + 2 steps  the same of C   + 2 alpha + 2 S beta + S gamma
//
// Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication
// Operations in MPICH", IJHPCA 19 (2005), 4.4.
#pragma once

#include "comm/schedule/folding.h"

namespace bp {

// Consecutive blocks. A range of blocks is sent even if the blocks have no elements.
struct BlockRange {
  int first = 0;
  int count = 0;  // 0: nothing is sent
  bool operator==(const BlockRange&) const = default;
};

// What a rank does at one step. The defaults mean that it sits out. A step that both sends and
// receives does so with different blocks.
struct HalvingStep {
  int peer = -1;
  BlockRange send = {};     // with the values from before the step
  BlockRange receive = {};  // used unless `received` is none
  ReceiveAction received = ReceiveAction::none;
};

class HalvingDoubling {
 public:
  HalvingDoubling(int rank, int ranks) : folding_(rank, ranks) {}

  [[nodiscard]] int blocks() const { return folding_.core(); }
  // The same number on all ranks. Step k of a rank matches step k of its peer.
  [[nodiscard]] int steps() const { return 2 * folding_.doublings() + (folding_.any() ? 2 : 0); }
  // Earlier steps only reduce; from this step on data is only copied.
  [[nodiscard]] int first_copying_step() const {
    return folding_.doublings() + (folding_.any() ? 1 : 0);
  }
  // Returns the block that is completely reduced on this rank at that step, a different one on each
  // rank; -1 for a rank that sits out.
  [[nodiscard]] int own_block() const {
    return folding_.sits_out() ? -1 : range_after(folding_.doublings()).first;
  }

  [[nodiscard]] HalvingStep step(int k) const {
    const BlockRange all{.count = blocks()};
    if (folding_.any() && (k == 0 || k == steps() - 1)) return folding_step(k == 0, all);
    if (folding_.sits_out()) return {};
    const int j = folding_.any() ? k - 1 : k;
    return j < folding_.doublings() ? halve(j) : double_back(2 * folding_.doublings() - 1 - j);
  }

 private:
  [[nodiscard]] HalvingStep folding_step(bool first, const BlockRange& all) const {
    if (!folding_.is_folded()) return {};
    const bool sends = folding_.sits_out() == first;
    if (sends) return {.peer = folding_.partner(), .send = all};
    return {.peer = folding_.partner(),
            .receive = all,
            .received = first ? ReceiveAction::reduce_left : ReceiveAction::replace};
  }

  // Returns the blocks that this rank still reduces after `halvings` steps. Bit j of its number
  // says which half it kept at step j.
  [[nodiscard]] BlockRange range_after(int halvings) const {
    BlockRange range{.count = blocks()};
    for (int j = 0; j < halvings; ++j) range = half(range, (folding_.number() >> j) & 1);
    return range;
  }
  [[nodiscard]] static BlockRange half(const BlockRange& range, int upper) {
    return {.first = range.first + upper * range.count / 2, .count = range.count / 2};
  }

  [[nodiscard]] HalvingStep halve(int j) const {
    const int own = folding_.number();
    const int upper = (own >> j) & 1;
    const BlockRange range = range_after(j);
    return {.peer = folding_.rank_of(own ^ (1 << j)),
            .send = half(range, 1 - upper),
            .receive = half(range, upper),
            .received = upper == 1 ? ReceiveAction::reduce_left : ReceiveAction::reduce_right};
  }
  // The reverse of halve(j): each rank sends the half that it kept there, now completely reduced.
  [[nodiscard]] HalvingStep double_back(int j) const {
    const HalvingStep halving = halve(j);
    return {.peer = halving.peer,
            .send = halving.receive,
            .receive = halving.send,
            .received = ReceiveAction::replace};
  }

  Folding folding_;
};

}  // namespace bp
