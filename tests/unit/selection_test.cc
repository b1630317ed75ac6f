// Tests which algorithm is chosen, and at which sizes the cost model changes its choice.
#include "comm/backend/common/selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "bp/error.h"

namespace bp {
namespace {

using testing::HasSubstr;

// Returns the smallest number of kilobytes from which `longer` takes no more time than `shorter`.
std::size_t crossing_kb(Algorithm shorter, Algorithm longer, int ranks, const Link& link) {
  const auto cost = [&](Algorithm algorithm, std::size_t kb) {
    return all_reduce_ps(algorithm, ranks, kb * 1000, link);
  };
  std::size_t kb = 1;
  while (kb < 100'000 && cost(longer, kb) > cost(shorter, kb)) ++kb;
  return kb;
}

// The formulas of ring.h and recursive_doubling.h, with the constants of docs/collectives.md, cross
// at these sizes in kB. For 4 ranks at 10 Gb/s: 50 us + 2.068 ns S = 150 us + 1.457 ns S.
TEST(CostModel, RingBeatsRecursiveDoublingFromTheSizeAtWhichTheFormulasCross) {
  const auto ring_from = [](int ranks, const Link& link) {
    return crossing_kb(Algorithm::recursive_doubling, Algorithm::ring, ranks, link);
  };
  EXPECT_EQ(ring_from(4, kTenGigabit), 164U);
  EXPECT_EQ(ring_from(8, kTenGigabit), 197U);
  EXPECT_EQ(ring_from(16, kTenGigabit), 281U);
  EXPECT_EQ(ring_from(4, kLoopback), 467U);
  EXPECT_EQ(ring_from(8, kLoopback), 588U);
}

TEST(CostModel, DoubleTreePaysOnlyForManyRanks) {
  for (const std::size_t bytes : {1U << 10, 1U << 16, 1U << 20, 1U << 26}) {
    EXPECT_GT(all_reduce_ps(Algorithm::double_tree, 8, bytes, kTenGigabit),
              all_reduce_ps(Algorithm::ring, 8, bytes, kTenGigabit));
  }
  EXPECT_LT(all_reduce_ps(Algorithm::double_tree, 64, 1 << 20, kTenGigabit),
            all_reduce_ps(Algorithm::ring, 64, 1 << 20, kTenGigabit));
}

// Costs of terabytes and a thousand ranks must not overflow.
TEST(CostModel, DoesNotOverflow) {
  for (const auto algorithm : {Algorithm::ring, Algorithm::recursive_doubling,
                               Algorithm::halving_doubling, Algorithm::tree}) {
    EXPECT_GT(all_reduce_ps(algorithm, 1023, std::size_t{1} << 40, kTenGigabit), 0);
  }
}

TEST(Selection, ShortVectorsUseDoublingAndLongOnesTheRing) {
  for (const int ranks : {2, 3, 4, 5, 7, 8, 16, 64}) {
    for (const int hosts : {1, ranks}) {
      const Selection selection({.ranks = ranks, .hosts = hosts});
      EXPECT_EQ(selection.all_reduce(0), Algorithm::recursive_doubling) << ranks;
      EXPECT_EQ(selection.all_reduce(4), Algorithm::recursive_doubling) << ranks;
      EXPECT_EQ(selection.all_reduce(std::size_t{1} << 33), Algorithm::ring) << ranks;
    }
  }
  const Selection eight({.ranks = 8, .hosts = 8});
  EXPECT_EQ(eight.all_reduce(256 << 10), Algorithm::halving_doubling);
}

TEST(Selection, OnlyLeadersSendIfHostsShareMemory) {
  const Selection selection({.backend = "gloo+shm", .ranks = 4, .hosts = 2});
  EXPECT_EQ(selection.all_reduce(4), Algorithm::hierarchical);
  EXPECT_EQ(selection.all_reduce(64 << 20), Algorithm::hierarchical);
}

TEST(SelectionTable, IsReadAsItWasWritten) {
  const SelectionKey key{.backend = "gloo", .ranks = 4, .hosts = 2};
  SelectionTable table;
  table.add({.ranks = 3}, {kAllThatIsLonger, Algorithm::ring});
  table.add(key, {65536, Algorithm::recursive_doubling});
  table.add(key, {kAllThatIsLonger, Algorithm::double_tree});
  std::stringstream file;
  table.write(file);
  const SelectionTable read(file, "file");
  EXPECT_EQ(read.rows(key), table.rows(key));
  EXPECT_EQ(read.hash(), table.hash());
  EXPECT_NE(read.hash(), SelectionTable().hash());
  const Selection selection(key, read);
  EXPECT_EQ(selection.all_reduce(65535), Algorithm::recursive_doubling);
  EXPECT_EQ(selection.all_reduce(65536), Algorithm::double_tree);
  // Not measured, so the cost model decides.
  EXPECT_EQ(Selection({.ranks = 8, .hosts = 8}, read).all_reduce(256 << 10),
            Algorithm::halving_doubling);
}

std::string wrong_table(const std::string& text) {
  try {
    std::istringstream file(text);
    const SelectionTable table(file, "t");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
  return "";
}

TEST(SelectionTable, ErrorsNameTheLine) {
  EXPECT_EQ(wrong_table("# nothing\n\n  # more\n"), "");
  EXPECT_EQ(wrong_table("all_reduce gloo 4 1 - ring # as ever\n"), "");
  EXPECT_EQ(wrong_table("\nall_reduce gloo 4 1 ring"),
            "t, line 2: has 5 words, not 6: operation, backend, ranks, hosts, below, algorithm");
  EXPECT_EQ(wrong_table("barrier gloo 4 1 - ring"),
            "t, line 1: 'barrier': only all_reduce can be chosen for");
  EXPECT_EQ(wrong_table("all_reduce gloo x 1 - ring"), "t, line 1: 'x' is not a number of ranks");
  EXPECT_EQ(wrong_table("all_reduce gloo 4 0 - ring"), "t, line 1: '0' is not a number of hosts");
  EXPECT_EQ(wrong_table("all_reduce gloo 4 1 4K ring"),
            "t, line 1: '4K' is neither a number of bytes nor -");
  EXPECT_THAT(wrong_table("all_reduce gloo 4 1 - torus"),
              HasSubstr("t, line 1: there is no algorithm 'torus'"));
  EXPECT_EQ(wrong_table("all_reduce gloo 4 1 - auto"),
            "t, line 1: auto is what the table is to decide");
  EXPECT_THROW((void)SelectionTable::read("/nowhere/table"), Error);
}

TEST(SelectionTable, RefusesAlgorithmsThatTheHostsCannotRun) {
  SelectionTable table;
  table.add({.ranks = 4, .hosts = 1}, {kAllThatIsLonger, Algorithm::hierarchical});
  try {
    const Selection selection({.ranks = 4, .hosts = 1}, table);
    ADD_FAILURE() << "it was accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "the selection has hierarchical for 4 ranks on 1 host, which cannot run it");
  }
}

std::string refusal(std::string_view name, std::vector<int> local_sizes) {
  try {
    (void)parse_algorithm(name, local_sizes);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
  return "";
}

TEST(Algorithms, UnknownAndImpossibleNamesAreRefusedWithTheChoices) {
  EXPECT_EQ(refusal("rign", {3}),
            "there is no algorithm 'rign'; possible here: auto, ring, recursive_doubling, "
            "halving_doubling, tree, double_tree");
  EXPECT_EQ(
      refusal("hierarchical", {3}),
      "the algorithm 'hierarchical' needs several hosts, one of them with several ranks; this "
      "job has 1 host (3 ranks); possible here: auto, ring, recursive_doubling, "
      "halving_doubling, tree, double_tree");
  EXPECT_THAT(refusal("hierarchical", {1, 1}), HasSubstr("this job has 2 hosts (1+1 ranks)"));
  EXPECT_THAT(refusal("x", {3, 1}), HasSubstr("double_tree, hierarchical"));
  EXPECT_EQ(parse_algorithm("hierarchical", std::vector{3, 1}), Algorithm::hierarchical);
  EXPECT_EQ(parse_algorithm("auto", std::vector{1}), Algorithm::automatic);
}

}  // namespace
}  // namespace bp
