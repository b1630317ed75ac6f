// Tests the trees for 1 to 64 ranks, in several orders of delivery.
#include <gtest/gtest.h>

#include <algorithm>

#include "comm/schedule/binomial_tree.h"
#include "comm/schedule/dissemination.h"
#include "comm/schedule/double_tree.h"
#include "tests/unit/schedule_cases.h"

namespace bp {
namespace {

class TreeSchedule : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, TreeSchedule, testing::Range(1, kMostRanks + 1));

TEST_P(TreeSchedule, BinomialTreeBringsRootsDataFromEveryRoot) {
  const int ranks = GetParam();
  constexpr int kSegments = 2;
  for (int root = 0; root < ranks; ++root) {
    std::vector<Program> programs(at(ranks));
    std::vector<Memory> memory(at(ranks), Memory(kSegments));
    memory[at(root)] = own_data(root, ranks, kSegments);
    for (int r = 0; r < ranks; ++r) {
      const BinomialTree tree(r, ranks, root);
      ASSERT_EQ(tree.is_root(), r == root);
      for (int s = 0; s < kSegments; ++s) {
        if (tree.parent() != -1) {
          programs[at(r)].push_back({{}, {{tree.parent(), s, Use::replace}}});
        }
        SimulatedStep& forward = programs[at(r)].emplace_back();
        for (int i = 0; i < tree.children(); ++i) forward.sends.push_back({tree.child(i), s});
      }
    }
    ASSERT_EQ(simulate(programs, memory, at(root)), "");
    for (const Memory& other : memory) ASSERT_EQ(other, own_data(root, ranks, kSegments));
  }
}

// Adds what TreeFlow does with each cell: up with a reduction at each rank, down again with copies.
void add_up(Program& program, int cell, int parent, const std::vector<SimulatedTransfer>& takes) {
  for (const SimulatedTransfer& take : takes) program.push_back({{}, {take}});
  if (parent >= 0) program.push_back({{{parent, cell}}, {}});
}

void add_down(Program& program, int cell, int parent, const std::vector<SimulatedTransfer>& takes) {
  if (parent >= 0) program.push_back({{}, {{parent, cell, Use::replace}}});
  SimulatedStep& forward = program.emplace_back();
  for (const SimulatedTransfer& take : takes) forward.sends.push_back({take.peer, cell});
}

TEST_P(TreeSchedule, BinomialTreeReducesEachRankOnceAndBringsTheSameBitsToAll) {
  const int ranks = GetParam();
  std::vector<Program> programs(at(ranks));
  for (int r = 0; r < ranks; ++r) {
    const BinomialTree tree(r, ranks, 0);
    std::vector<SimulatedTransfer> takes;
    int end = r + 1;  // end of the run of neighbours that are reduced so far
    for (int i = tree.children() - 1; i >= 0; --i) {
      ASSERT_EQ(tree.child(i), end);
      end += i == 0 ? 0 : tree.child(i - 1) - tree.child(i);
      takes.push_back({tree.child(i), 0, Use::upper});
    }
    add_up(programs[at(r)], 0, tree.parent(), takes);
    add_down(programs[at(r)], 0, tree.parent(), takes);
  }
  for (std::uint64_t seed = 0; seed < orders(ranks); ++seed) {
    auto memory = own_data_of_all(ranks, 1);
    ASSERT_EQ(simulate(programs, memory, seed), "");
    EXPECT_EQ(memory[0][0].times, each_once(ranks));
    for (const Memory& result : memory) ASSERT_EQ(result, memory[0]);
  }
}

// Each tree has two segments: cells 0 and 1 use tree 0, cells 2 and 3 use tree 1.
TEST_P(TreeSchedule, DoubleTreeReducesEachRankOnceAndBringsTheSameBitsToAll) {
  const int ranks = GetParam();
  std::vector<Program> programs(at(ranks));
  for (int r = 0; r < ranks; ++r) {
    const auto add_all = [&](const auto& add) {
      for (const int segment : {0, 1}) {
        for (const int tree : {0, 1}) {
          const TreePlace place = DoubleTree(r, ranks).place(tree);
          const int cell = 2 * tree + segment;
          std::vector<SimulatedTransfer> takes;
          if (place.left >= 0) takes.push_back({place.left, cell, Use::lower});
          if (place.right >= 0) takes.push_back({place.right, cell, Use::upper});
          add(programs[at(r)], cell, place.parent, takes);
        }
      }
    };
    add_all(add_up);
    add_all(add_down);
  }
  for (std::uint64_t seed = 0; seed < orders(ranks); ++seed) {
    auto memory = own_data_of_all(ranks, 4);
    ASSERT_EQ(simulate(programs, memory, seed), "");
    for (const Cell& cell : memory[0]) EXPECT_EQ(cell.times, each_once(ranks));
    for (const Memory& result : memory) ASSERT_EQ(result, memory[0]);
  }
}

// The purpose of two trees: each rank is a leaf in one of them, and no chain of ranks is long.
TEST_P(TreeSchedule, DoubleTreeHasEachRankAsALeafInOneTreeAndIsNotDeep) {
  const int ranks = GetParam();
  const int depth_allowed = Dissemination(0, ranks).steps() + 1;
  for (int r = 0; r < ranks; ++r) {
    int leaf_in = 0;
    for (const int tree : {0, 1}) {
      TreePlace place = DoubleTree(r, ranks).place(tree);
      leaf_in += place.left < 0 && place.right < 0 ? 1 : 0;
      // In the order of ranks: everything on the left is lower, everything on the right is higher.
      EXPECT_TRUE(place.left < r);
      EXPECT_TRUE(place.right < 0 || place.right > r);
      int depth = 0;
      for (; place.parent >= 0; ++depth) place = DoubleTree(place.parent, ranks).place(tree);
      EXPECT_LE(depth, depth_allowed);
    }
    EXPECT_GE(leaf_in, 1) << "rank " << r;
  }
}

// A rank is reached in the step that is its depth plus its number among its siblings, summed over
// the path.
TEST_P(TreeSchedule, BinomialTreeReachesAllInLogarithmicallyManySteps) {
  const int ranks = GetParam();
  const int steps = Dissemination(0, ranks).steps();  // ceil(log2 ranks)
  std::vector<int> reached(at(ranks), 0);
  for (int r = 0; r < ranks; ++r) {  // parents come before their children
    const BinomialTree tree(r, ranks, 0);
    for (int i = 0; i < tree.children(); ++i) {
      ASSERT_GT(tree.child(i), r);
      reached[at(tree.child(i))] = reached[at(r)] + i + 1;
    }
    EXPECT_LE(reached[at(r)], steps);
  }
}

}  // namespace
}  // namespace bp
