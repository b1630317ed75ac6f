// Two binary trees over the same ranks. Each reduces half of the vector on the way up and copies
// the result on the way down, in segments. In one binary tree half of the ranks are leaves, which
// only send. Here a leaf of one tree is an inner rank of the other, so all ranks reduce. This takes
// nearly the ring's traffic, but a number of steps that grows only with the logarithm of the ranks:
// it is meant for many ranks.
//
// Tree t numbers the ranks from t on, so a rank whose number is odd in one tree has an even number
// in the other. Of a range of numbers, the one with the most factors of two is the top; the smaller
// numbers of the range are below it on the left, the larger ones on the right. So odd numbers are
// leaves.
//
//   8 ranks      tree 0 (numbers are ranks)      tree 1 (number n is rank n - 1; ranks are shown)
//
//                0                                               7
//                +-------4                               3-------+
//                    +---+---+                       +---+---+
//                    2       6                       1       5
//                   + +     + +                     + +     + +
//                   1 3     5 7                     0 2     4 6
//
// A rank reduces its left child's vector, its own and its right child's in this order, so both
// trees reduce in the order of ranks. The top has the result and all others get a copy, so all
// ranks hold the same bits.
//
// Cost for P ranks, S bytes and k segments (alpha, beta, gamma as in ring.h). For each segment a
// rank sends two messages to its children and receives two from them:
//   (2 log2 P + k) (2 alpha + (4 beta + 2 gamma) S / 2k), for long S about 2 S beta
//
// Source: P. Sanders, J. Speck, J. L. Träff, "Two-tree algorithms for full bandwidth broadcast,
// reduction and scan", Parallel Computing 35 (2009). Its second tree is the first one mirrored or
// shifted.
#pragma once

#include "base/check.h"

namespace bp {

// A rank's neighbours in a tree; -1 for one that does not exist.
struct TreePlace {
  int parent = -1;
  int left = -1;   // the child with lower ranks
  int right = -1;  // the child with higher ranks
};

class DoubleTree {
 public:
  DoubleTree(int rank, int ranks) : rank_(rank), ranks_(ranks) {
    BP_CHECK(ranks >= 1 && rank >= 0 && rank < ranks, "a tree needs a rank among its ranks");
  }

  // Returns this rank's neighbours in tree 0 or 1.
  [[nodiscard]] TreePlace place(int tree) const {
    const int number = rank_ + tree;
    int first = tree;
    int last = ranks_ - 1 + tree;
    int parent = -1;
    for (int at = top_of(first, last); at != number; at = top_of(first, last)) {
      parent = at;
      (number < at ? last : first) = number < at ? at - 1 : at + 1;
    }
    return {.parent = rank_of(tree, parent),
            .left = rank_of(tree, top_of(first, number - 1)),
            .right = rank_of(tree, top_of(number + 1, last))};
  }

 private:
  // Returns the top of the numbers first..last, or -1 if there are none. 0 counts as having more
  // factors of two than any other number.
  [[nodiscard]] static int top_of(int first, int last) {
    if (first > last) return -1;
    int top = last;
    while (top > 0 && (top & (top - 1)) >= first) top &= top - 1;  // without its lowest bit
    return top;
  }
  [[nodiscard]] static int rank_of(int tree, int number) { return number < 0 ? -1 : number - tree; }

  int rank_;
  int ranks_;
};

}  // namespace bp
