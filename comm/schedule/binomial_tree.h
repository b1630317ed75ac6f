// The binomial tree: at each step every rank that has the data sends it to one that does not, so
// the number of ranks that have it doubles. Broadcast from root, with ranks numbered so that root
// is 0:
//
//   4 ranks      step 0    0 -----------> 2
//                step 1    0 --> 1       2 --> 3
//
//   8 ranks          0             step 0: 0 to 4
//              +-----+---+         step 1: 0 to 2, 4 to 6
//              4     2   1         step 2: 0 to 1, 2 to 3, 4 to 5, 6 to 7
//            +-+     |
//            6 5     3
//            |
//            7
//
// A rank's parent is its number with the lowest set bit cleared. Its children are its number plus
// each power of two below that bit, the largest subtree first. A subtree has consecutive numbers.
//
// A long vector travels in segments. A rank forwards each segment as soon as it arrives.
//
// Cost for P ranks and S bytes: ceil(log2 P) steps; root sends S ceil(log2 P), all ranks together
// S (P-1); ceil(log2 P) (alpha + S beta).
//
// Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication
// Operations in MPICH", IJHPCA 19 (2005), 4.2.
#pragma once

#include <bit>

#include "base/check.h"

namespace bp {

class BinomialTree {
 public:
  BinomialTree(int rank, int ranks, int root)
      : number_((rank - root + ranks) % ranks), ranks_(ranks), root_(root) {
    BP_CHECK(rank >= 0 && rank < ranks, "a tree needs a rank among its ranks");
    BP_CHECK(root >= 0 && root < ranks, "a tree needs its root among its ranks");
    reach_ = static_cast<int>(is_root() ? std::bit_ceil(static_cast<unsigned>(ranks))
                                        : static_cast<unsigned>(number_ & -number_));
    while ((1 << children_) < reach_ && number_ + (1 << children_) < ranks_) ++children_;
  }

  [[nodiscard]] bool is_root() const { return number_ == 0; }
  [[nodiscard]] int parent() const {  // returns -1 for root
    return is_root() ? -1 : rank_of(number_ - reach_);
  }
  [[nodiscard]] int children() const { return children_; }
  // Returns child i, 0 <= i < children(), in the order of falling subtree sizes.
  [[nodiscard]] int child(int i) const { return rank_of(number_ + (1 << (children_ - 1 - i))); }

 private:
  [[nodiscard]] int rank_of(int number) const { return (number + root_) % ranks_; }

  int number_;  // the rank's number, counted from root
  int ranks_;
  int root_;
  int reach_ = 1;  // the subtree is number_ .. number_ + reach_ - 1, without numbers >= ranks_
  int children_ = 0;
};

}  // namespace bp
