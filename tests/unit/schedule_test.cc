// Every schedule, for every number of ranks from 1 to 64, in several orders of delivery.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "bp/collective.h"
#include "bp/error.h"
#include "comm/schedule/binomial_tree.h"
#include "comm/schedule/dissemination.h"
#include "comm/schedule/double_tree.h"
#include "comm/schedule/halving_doubling.h"
#include "comm/schedule/pairwise.h"
#include "comm/schedule/recursive_doubling.h"
#include "comm/schedule/ring.h"
#include "comm/schedule/segments.h"
#include "tests/unit/schedule_simulator.h"

namespace bp {
namespace {

using Use = SimulatedTransfer::Use;
constexpr int kMostRanks = 64;

// Orders of delivery that are tried; many ranks make many deliveries of every kind by themselves.
std::uint64_t orders(int ranks) { return ranks <= 16 ? 4 : 1; }

std::size_t at(int index) { return static_cast<std::size_t>(index); }

// One ring step with every block cut into `segments`, so that segments of one step may overtake
// nothing but interleave with those of the next.
void add_ring_step(Program& program, const Ring& ring, const RingStep& step, int segments) {
  for (int s = 0; s < segments; ++s) {
    const Use use = step.reduce ? Use::upper : Use::replace;
    program.push_back({{{ring.next(), step.send_block * segments + s}},
                       {{ring.previous(), step.receive_block * segments + s, use}}});
  }
}

Use use_of(Received received) {
  switch (received) {
    case Received::nothing:
      return Use::none;
    case Received::replaces:
      return Use::replace;
    case Received::lower:
      return Use::lower;
    case Received::upper:
      return Use::upper;
  }
  return Use::none;
}

std::vector<Program> doubling_programs(int ranks) {
  std::vector<Program> programs(at(ranks));
  for (int r = 0; r < ranks; ++r) {
    const RecursiveDoubling schedule(r, ranks);
    for (int k = 0; k < schedule.steps(); ++k) {
      const DoublingStep step = schedule.step(k);
      SimulatedStep& out = programs[at(r)].emplace_back();
      if (step.send) out.sends.push_back({step.peer, 0});
      if (step.received != Received::nothing) {
        out.receives.push_back({step.peer, 0, use_of(step.received)});
      }
    }
  }
  return programs;
}

std::vector<Memory> own_data_of_all(int ranks, int cells) {
  std::vector<Memory> memory;
  for (int r = 0; r < ranks; ++r) memory.push_back(own_data(r, ranks, cells));
  return memory;
}

// The order recursive_doubling.h promises: pairs of neighbours are folded where the ranks are no
// power of two, then neighbours are joined until one is left.
Cell joined_in_rank_order(int ranks) {
  int core = 1;
  while (2 * core <= ranks) core *= 2;
  std::vector<Cell> cells;
  for (int r = 0; r < ranks; ++r) {
    const Cell own = own_data(r, ranks, 1)[0];
    const bool second_of_pair = r < 2 * (ranks - core) && r % 2 == 1;
    if (second_of_pair) {
      cells.back() = combine(cells.back(), own);
    } else {
      cells.push_back(own);
    }
  }
  for (; cells.size() > 1; cells.resize(cells.size() / 2)) {
    for (std::size_t i = 0; i < cells.size() / 2; ++i) {
      cells[i] = combine(cells[2 * i], cells[2 * i + 1]);
    }
  }
  return cells[0];
}

std::vector<int> each_once(int ranks) { return std::vector<int>(at(ranks), 1); }

class Schedule : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Schedule, testing::Range(1, kMostRanks + 1));

TEST_P(Schedule, RingReduceScatterLeavesEachRankItsWholeBlock) {
  const int ranks = GetParam();
  constexpr int kSegments = 3;
  std::vector<Program> programs(at(ranks));
  for (int r = 0; r < ranks; ++r) {
    const Ring ring(r, ranks);
    for (int k = 0; k < ring.reduce_scatter_steps(); ++k) {
      add_ring_step(programs[at(r)], ring, ring.reduce_scatter_step(k), kSegments);
    }
  }
  for (std::uint64_t seed = 0; seed < orders(ranks); ++seed) {
    auto memory = own_data_of_all(ranks, ranks * kSegments);
    ASSERT_EQ(simulate(programs, memory, seed), "");
    for (int r = 0; r < ranks; ++r) {
      for (int s = 0; s < kSegments; ++s) {
        ASSERT_EQ(memory[at(r)][at(r * kSegments + s)].times, each_once(ranks)) << "rank " << r;
      }
    }
  }
}

TEST_P(Schedule, RingAllGatherBringsEveryBlockUnchanged) {
  const int ranks = GetParam();
  std::vector<Program> programs(at(ranks));
  for (int r = 0; r < ranks; ++r) {
    const Ring ring(r, ranks);
    for (int k = 0; k < ring.all_gather_steps(); ++k) {
      add_ring_step(programs[at(r)], ring, ring.all_gather_step(k), 1);
    }
  }
  std::vector<Memory> wanted;
  std::vector<Memory> start;
  Memory whole;
  for (int r = 0; r < ranks; ++r) whole.push_back(own_data(r, ranks, 1)[0]);
  for (int r = 0; r < ranks; ++r) {
    wanted.push_back(whole);
    start.emplace_back(at(ranks));
    start.back()[at(r)] = whole[at(r)];
  }
  for (std::uint64_t seed = 0; seed < orders(ranks); ++seed) {
    auto memory = start;
    ASSERT_EQ(simulate(programs, memory, seed), "");
    ASSERT_EQ(memory, wanted);
  }
}

TEST_P(Schedule, RingAllReduceGivesAllRanksTheSameBits) {
  const int ranks = GetParam();
  constexpr int kSegments = 2;
  std::vector<Program> programs(at(ranks));
  for (int r = 0; r < ranks; ++r) {
    const Ring ring(r, ranks);
    ASSERT_EQ(ring.all_reduce_steps(), 2 * (ranks - 1));
    for (int k = 0; k < ring.all_reduce_steps(); ++k) {
      add_ring_step(programs[at(r)], ring, ring.all_reduce_step(k), kSegments);
    }
  }
  for (std::uint64_t seed = 0; seed < orders(ranks); ++seed) {
    auto memory = own_data_of_all(ranks, ranks * kSegments);
    ASSERT_EQ(simulate(programs, memory, seed), "");
    for (const Cell& cell : memory[0]) ASSERT_EQ(cell.times, each_once(ranks));
    for (const Memory& other : memory) ASSERT_EQ(other, memory[0]);
  }
}

// What lets a rank receive in place: see ring.h.
TEST_P(Schedule, RingSendsABlockInReduceScatterAtTheStepAtWhichAllGatherBringsIt) {
  const int ranks = GetParam();
  for (int r = 0; r < ranks; ++r) {
    const Ring ring(r, ranks);
    for (int k = 0; k + 1 < ranks; ++k) {
      EXPECT_EQ(ring.all_gather_step(k).receive_block, ring.reduce_scatter_step(k).send_block);
      EXPECT_NE(ring.all_gather_step(k).receive_block, ring.all_gather_step(k).send_block);
      if (k > 0) {
        EXPECT_EQ(ring.all_reduce_step(k).send_block, ring.all_reduce_step(k - 1).receive_block);
      }
    }
  }
}

TEST_P(Schedule, RecursiveDoublingGivesAllRanksTheSameBitsInRankOrder) {
  const int ranks = GetParam();
  const auto programs = doubling_programs(ranks);
  for (std::uint64_t seed = 0; seed < orders(ranks); ++seed) {
    auto memory = own_data_of_all(ranks, 1);
    ASSERT_EQ(simulate(programs, memory, seed), "");
    for (const Memory& result : memory) ASSERT_EQ(result[0], joined_in_rank_order(ranks));
  }
}

TEST_P(Schedule, RecursiveDoublingTakesLogarithmicallyManySteps) {
  const int ranks = GetParam();
  int log2 = 0;
  while ((2 << log2) <= ranks) ++log2;
  const bool power = (1 << log2) == ranks;
  EXPECT_EQ(RecursiveDoubling(ranks - 1, ranks).steps(), power ? log2 : log2 + 2);
}

void add_range(std::vector<SimulatedTransfer>& out, int peer, const BlockRange& range, Use use) {
  for (int b = 0; b < range.count; ++b) out.push_back({peer, range.first + b, use});
}

TEST_P(Schedule, HalvingDoublingGivesAllRanksWhatRecursiveDoublingDoes) {
  const int ranks = GetParam();
  const int blocks = HalvingDoubling(0, ranks).blocks();
  std::vector<Program> programs(at(ranks));
  for (int r = 0; r < ranks; ++r) {
    const HalvingDoubling schedule(r, ranks);
    for (int k = 0; k < schedule.steps(); ++k) {
      const HalvingStep step = schedule.step(k);
      SimulatedStep& out = programs[at(r)].emplace_back();
      add_range(out.sends, step.peer, step.send, Use::none);
      add_range(out.receives, step.peer, step.receive, use_of(step.received));
    }
  }
  for (std::uint64_t seed = 0; seed < orders(ranks); ++seed) {
    auto memory = own_data_of_all(ranks, blocks);
    ASSERT_EQ(simulate(programs, memory, seed), "");
    for (const Memory& result : memory) {
      for (const Cell& cell : result) ASSERT_EQ(cell, joined_in_rank_order(ranks));
    }
  }
}

// What lets a rank reduce in place, and divide its own block before others get it.
TEST_P(Schedule, HalvingDoublingKeepsApartWhatIsSentAndReceived) {
  const int ranks = GetParam();
  std::vector<int> owners;
  for (int r = 0; r < ranks; ++r) {
    const HalvingDoubling schedule(r, ranks);
    if (schedule.own_block() >= 0) owners.push_back(schedule.own_block());
    std::size_t sent = 0;  // blocks
    for (int k = 0; k < schedule.steps(); ++k) {
      const HalvingStep step = schedule.step(k);
      sent += at(step.send.count);
      EXPECT_EQ(step.received == Received::replaces,
                step.receive.count > 0 && k >= schedule.first_copying_step());
      if (step.send.count == 0 || step.receive.count == 0) continue;
      EXPECT_TRUE(step.send.first + step.send.count <= step.receive.first ||
                  step.receive.first + step.receive.count <= step.send.first);
    }
    const bool folds = schedule.blocks() != ranks;
    if (!folds) {
      EXPECT_EQ(sent, at(2 * (ranks - 1)));  // of `ranks` blocks: the least there can be
    }
  }
  std::ranges::sort(owners);
  std::vector<int> each(at(HalvingDoubling(0, ranks).blocks()));
  std::iota(each.begin(), each.end(), 0);
  EXPECT_EQ(owners, each);
}

TEST_P(Schedule, BinomialTreeBringsRootsDataFromEveryRoot) {
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
        if (tree.parent() != -1)
          programs[at(r)].push_back({{}, {{tree.parent(), s, Use::replace}}});
        SimulatedStep& forward = programs[at(r)].emplace_back();
        for (int i = 0; i < tree.children(); ++i) forward.sends.push_back({tree.child(i), s});
      }
    }
    ASSERT_EQ(simulate(programs, memory, at(root)), "");
    for (const Memory& other : memory) ASSERT_EQ(other, own_data(root, ranks, kSegments));
  }
}

// Up with a reduction at each rank, down again with copies: what TreeFlow does with each cell.
void add_up(Program& program, int cell, int parent, const std::vector<SimulatedTransfer>& takes) {
  for (const SimulatedTransfer& take : takes) program.push_back({{}, {take}});
  if (parent >= 0) program.push_back({{{parent, cell}}, {}});
}

void add_down(Program& program, int cell, int parent, const std::vector<SimulatedTransfer>& takes) {
  if (parent >= 0) program.push_back({{}, {{parent, cell, Use::replace}}});
  SimulatedStep& forward = program.emplace_back();
  for (const SimulatedTransfer& take : takes) forward.sends.push_back({take.peer, cell});
}

TEST_P(Schedule, BinomialTreeReducesEachRankOnceAndBringsTheSameBitsToAll) {
  const int ranks = GetParam();
  std::vector<Program> programs(at(ranks));
  for (int r = 0; r < ranks; ++r) {
    const BinomialTree tree(r, ranks, 0);
    std::vector<SimulatedTransfer> takes;
    int end = r + 1;  // of the ranks that are reduced here so far: a run of neighbours
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

// Two segments a tree; cells 0 and 1 go by tree 0, cells 2 and 3 by tree 1.
TEST_P(Schedule, DoubleTreeReducesEachRankOnceAndBringsTheSameBitsToAll) {
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

// What it is made for: nobody has nothing but leaves' work, and nobody waits for long chains.
TEST_P(Schedule, DoubleTreeHasEachRankAsALeafInOneTreeAndIsNotDeep) {
  const int ranks = GetParam();
  const int depth_allowed = Dissemination(0, ranks).steps() + 1;
  for (int r = 0; r < ranks; ++r) {
    int leaf_in = 0;
    for (const int tree : {0, 1}) {
      TreePlace place = DoubleTree(r, ranks).place(tree);
      leaf_in += place.left < 0 && place.right < 0 ? 1 : 0;
      // In the order of ranks: what is left is lower, what is right is higher.
      EXPECT_TRUE(place.left < r);
      EXPECT_TRUE(place.right < 0 || place.right > r);
      int depth = 0;
      for (; place.parent >= 0; ++depth) place = DoubleTree(place.parent, ranks).place(tree);
      EXPECT_LE(depth, depth_allowed);
    }
    EXPECT_GE(leaf_in, 1) << "rank " << r;
  }
}

// Depth d and the i-th child add up to the step at which a rank is reached.
TEST_P(Schedule, BinomialTreeReachesAllInLogarithmicallyManySteps) {
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

TEST_P(Schedule, DisseminationHearsOfEveryRank) {
  const int ranks = GetParam();
  std::vector<Program> programs(at(ranks));
  for (int r = 0; r < ranks; ++r) {
    const Dissemination schedule(r, ranks);
    for (int k = 0; k < schedule.steps(); ++k) {
      const DisseminationStep step = schedule.step(k);
      ASSERT_NE(step.send_to, r);
      programs[at(r)].push_back({{{step.send_to, 0}}, {{step.receive_from, 0, Use::upper}}});
    }
  }
  for (std::uint64_t seed = 0; seed < orders(ranks); ++seed) {
    auto memory = own_data_of_all(ranks, 1);
    ASSERT_EQ(simulate(programs, memory, seed), "");
    for (const Memory& known : memory) {
      for (const int times : known[0].times) ASSERT_GE(times, 1);
    }
  }
}

TEST_P(Schedule, BlocksCoverAllElementsOnceAndDifferByAtMostOne) {
  const int ranks = GetParam();
  for (const std::size_t count : {at(0), at(1), at(ranks - 1), at(ranks), at(ranks + 1), at(997)}) {
    std::size_t end = 0;
    for (int r = 0; r < ranks; ++r) {
      const Block block = block_of(count, ranks, r);
      EXPECT_EQ(block.offset, end);
      EXPECT_EQ(block.count, count / at(ranks) + (at(r) < count % at(ranks) ? 1 : 0));
      end += block.count;
    }
    EXPECT_EQ(end, count);
  }
}

// The simulator would pass anything if it saw nothing.
TEST(ScheduleSimulator, SeesWhatIsWrong) {
  auto memory = own_data_of_all(2, 2);
  const Program waits = {{{}, {{1, 0, Use::replace}}}};
  EXPECT_EQ(simulate({waits, {}}, memory, 0), "rank 0 waits for ever at step 0 of 1");
  const Program sends = {{{{1, 0}}, {}}};
  EXPECT_EQ(simulate({sends, {}}, memory, 0), "rank 0 waits for ever at step 0 of 1");
  const Program takes_other = {{{}, {{0, 1, Use::replace}}}};
  EXPECT_EQ(simulate({sends, takes_other}, memory, 0),
            "rank 0 sent cell 0 where rank 1 expected cell 1");
  memory[0][0] = {};
  const Program takes = {{{}, {{0, 0, Use::replace}}}};
  EXPECT_EQ(simulate({sends, takes}, memory, 0),
            "rank 0 sent cell 0 to rank 1 and had nothing in it");
}

TEST(Blocks, ABlockThatIsNotThereIsRefused) {
  for (const auto& [ranks, r] : {std::pair{0, 0}, {3, 3}, {3, -1}}) {
    try {
      (void)block_of(10, ranks, r);
      ADD_FAILURE() << "block " << r << " of " << ranks << " was given";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      EXPECT_NE(std::string(error.what()).find("there is no block"), std::string::npos);
    }
  }
}

TEST(Segments, AreFewButTwoWhereItPays) {
  constexpr SegmentLimits kLimits{.max_bytes = 1000, .min_bytes = 100};
  EXPECT_EQ(segment_count(0, kLimits), 1);
  EXPECT_EQ(segment_count(199, kLimits), 1);
  EXPECT_EQ(segment_count(200, kLimits), 2);
  EXPECT_EQ(segment_count(2000, kLimits), 2);
  EXPECT_EQ(segment_count(2001, kLimits), 3);
}

TEST(Segments, OfABlockLieInsideIt) {
  const Block block{100, 5};
  EXPECT_EQ(segment_of(block, 2, 0).offset, 100U);
  EXPECT_EQ(segment_of(block, 2, 0).count, 3U);
  EXPECT_EQ(segment_of(block, 2, 1).offset, 103U);
  EXPECT_EQ(segment_of(block, 2, 1).count, 2U);
  EXPECT_EQ(segment_of(block, 7, 6).count, 0U);
}

TEST(Schedule, PairwiseMeetsEachPairOnceAndNobodyTwiceAtATime) {
  for (int ranks = 1; ranks <= kMostRanks; ++ranks) {
    std::vector<std::vector<int>> met(at(ranks), std::vector<int>(at(ranks)));
    for (int r = 0; r < ranks; ++r) {
      const Pairwise own(r, ranks);
      ASSERT_EQ(own.steps(), ranks - 1);
      for (int k = 1; k <= own.steps(); ++k) {
        const int to = own.send_to(k);
        ASSERT_NE(to, r);
        ASSERT_EQ(Pairwise(to, ranks).receive_from(k), r);
        ++met[at(r)][at(to)];
      }
    }
    for (int from = 0; from < ranks; ++from) {
      for (int to = 0; to < ranks; ++to) ASSERT_EQ(met[at(from)][at(to)], from == to ? 0 : 1);
    }
  }
}

}  // namespace
}  // namespace bp
