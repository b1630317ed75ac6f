// Tests every schedule but the trees' (tree_schedule_test.cc), for 1 to 64 ranks, in several orders
// of delivery.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "bp/collective.h"
#include "bp/error.h"
#include "comm/schedule/dissemination.h"
#include "comm/schedule/halving_doubling.h"
#include "comm/schedule/pairwise.h"
#include "comm/schedule/recursive_doubling.h"
#include "comm/schedule/ring.h"
#include "comm/schedule/segments.h"
#include "tests/unit/schedule_cases.h"

namespace bp {
namespace {

// Adds one ring step with every block cut into `segments`. Segments of one step keep their order
// but can interleave with those of the next.
void add_ring_step(Program& program, const Ring& ring, const RingStep& step, int segments) {
  for (int s = 0; s < segments; ++s) {
    const Use use = step.reduce ? Use::upper : Use::replace;
    program.push_back({{{ring.next(), step.send_block * segments + s}},
                       {{ring.previous(), step.receive_block * segments + s, use}}});
  }
}

Use use_of(ReceiveAction received) {
  switch (received) {
    case ReceiveAction::none:
      return Use::none;
    case ReceiveAction::replace:
      return Use::replace;
    case ReceiveAction::reduce_left:
      return Use::lower;
    case ReceiveAction::reduce_right:
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
      if (step.received != ReceiveAction::none) {
        out.receives.push_back({step.peer, 0, use_of(step.received)});
      }
    }
  }
  return programs;
}

// The order that recursive_doubling.h promises: if the number of ranks is not a power of two, pairs
// of neighbours are folded first; then neighbours are joined until one is left.
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

// This lets a rank receive in place; see ring.h.
TEST_P(Schedule, RingSendsABlockInTheStepInWhichAllGatherReturnsIt) {
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

// docs/acceptance.md, Values: Two algorithms for a sum, halving-doubling and recursive doubling,
// give the same bits.
TEST_P(Schedule, HalvingDoublingGivesTheResultOfRecursiveDoubling) {
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

// This lets a rank reduce in place, and divide its own block before others get it.
TEST_P(Schedule, HalvingDoublingNeverSendsAndReceivesOneBlockAtOnce) {
  const int ranks = GetParam();
  std::vector<int> owners;
  for (int r = 0; r < ranks; ++r) {
    const HalvingDoubling schedule(r, ranks);
    if (schedule.own_block() >= 0) owners.push_back(schedule.own_block());
    std::size_t sent = 0;  // blocks
    for (int k = 0; k < schedule.steps(); ++k) {
      const HalvingStep step = schedule.step(k);
      sent += at(step.send.count);
      EXPECT_EQ(step.received == ReceiveAction::replace,
                step.receive.count > 0 && k >= schedule.first_copying_step());
      if (step.send.count == 0 || step.receive.count == 0) continue;
      EXPECT_TRUE(step.send.first + step.send.count <= step.receive.first ||
                  step.receive.first + step.receive.count <= step.send.first);
    }
    const bool folds = schedule.blocks() != ranks;
    if (!folds) {
      EXPECT_EQ(sent, at(2 * (ranks - 1)));  // of `ranks` blocks: the minimum
    }
  }
  std::ranges::sort(owners);
  std::vector<int> each(at(HalvingDoubling(0, ranks).blocks()));
  std::iota(each.begin(), each.end(), 0);
  EXPECT_EQ(owners, each);
}

TEST_P(Schedule, DisseminationReachesEveryRank) {
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

// docs/acceptance.md, Disagreement and misuse: Any count can be cut into blocks for the ranks. They
// differ by at most one element.
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

// A simulator that detected nothing would pass every schedule.
TEST(ScheduleSimulator, DetectsErrors) {
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

TEST(Blocks, BlockOutOfRangeIsRefused) {
  for (const auto& [ranks, r] : {std::pair{0, 0}, {3, 3}, {3, -1}}) {
    try {
      (void)block_of(10, ranks, r);
      ADD_FAILURE() << "block " << r << " of " << ranks << " was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      EXPECT_NE(std::string(error.what()).find("there is no block"), std::string::npos);
    }
  }
}

TEST(Segments, AreFewButAtLeastTwoIfThatPays) {
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

TEST(Schedule, PairwiseConnectsEachPairOnceAndEachRankOncePerStep) {
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
