// --stratify: a split in which each class has its share.
// docs/acceptance.md, Data: Each class has its share of the splits.
#include <array>
#include <map>
#include <string>
#include <vector>

#include "tests/support/task_input.h"
#include "tests/unit/data/prepare_fixture.h"
#include "trainer/prepare/data_check.h"
#include "trainer/prepare/split.h"
#include "trainer/store/sample_store.h"

namespace bp::trainer {
namespace {

using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;

using Counts = std::array<std::int64_t, 3>;  // train, dev and test

// Returns the rows of each class in each split. Classes have these sizes, and their rows alternate.
std::vector<Counts> divided(std::vector<std::int64_t> sizes,
                            std::int64_t dev,
                            std::int64_t test,
                            std::uint64_t seed = 1) {
  Strata strata;
  std::vector<std::size_t> classes;
  for (bool some = true; some;) {
    some = false;
    for (std::size_t c = 0; c < sizes.size(); ++c) {
      if (sizes[c]-- <= 0) continue;
      strata.add(concat("class ", c));
      classes.push_back(c);
      some = true;
    }
  }
  const std::vector<Split> splits = stratified(strata, dev, test, seed);
  std::vector<Counts> counts(sizes.size());
  for (std::size_t i = 0; i < splits.size(); ++i) {
    ++counts[classes[i]][static_cast<std::size_t>(splits[i])];
  }
  return counts;
}

// docs/features.md, Splits and batches: A split by shares, seeded, stored, and stratified if asked
// | `--split`, `--stratify`, `--seed`
TEST(Stratified, GivesEachClassItsExactShare) {
  EXPECT_THAT(divided({80, 15, 5}, 20, 20),
              ElementsAre(Counts{48, 16, 16}, Counts{9, 3, 3}, Counts{3, 1, 1}));
  EXPECT_THAT(divided({10, 90}, 10, 0), ElementsAre(Counts{9, 1, 0}, Counts{81, 9, 0}));
}

TEST(Stratified, RoundsTheLargestRemaindersUp) {
  // 10 of 45, 33 and 22 rows are 4.5, 3.3 and 2.2.
  EXPECT_THAT(divided({45, 33, 22}, 10, 10),
              ElementsAre(Counts{35, 5, 5}, Counts{27, 3, 3}, Counts{18, 2, 2}));
}

TEST(Stratified, TrainsOnRareClasses) {
  EXPECT_THAT(divided({97, 2, 1}, 10, 10),
              ElementsAre(Counts{77, 10, 10}, Counts{2, 0, 0}, Counts{1, 0, 0}));
  EXPECT_THAT(divided({1, 1, 1, 1}, 1, 1), UnorderedElementsAre(Counts{0, 1, 0}, Counts{0, 0, 1},
                                                                Counts{1, 0, 0}, Counts{1, 0, 0}));
}

TEST(Stratified, HasNoRowsToDivide) {
  Strata strata;
  strata.add("a");
  strata.keep_if([](std::int64_t) { return false; });
  EXPECT_TRUE(stratified(strata, 0, 0, 1).empty());
}

TEST(Stratified, DependsOnTheSeedAlone) {
  Strata strata;
  for (int row = 0; row < 200; ++row) strata.add(row % 4 == 0 ? "a" : "b");
  EXPECT_EQ(stratified(strata, 20, 20, 7), stratified(strata, 20, 20, 7));
  EXPECT_NE(stratified(strata, 20, 20, 7), stratified(strata, 20, 20, 8));
}

class Stratify : public PrepareTest {
 protected:
  PrepareOptions of(int rows) {
    std::string content = "text,label\n";
    for (int row = 0; row < rows; ++row) {
      content += concat("a ", row % 160, ",", row % 10 == 0 ? "rare" : "common", "\n");
    }
    PrepareOptions with = options(scratch_.write("r.csv", content));
    with.stratify = true;
    return with;
  }
  static std::map<std::string, std::int64_t> labels(const SampleStore& store, Split split) {
    std::map<std::string, std::int64_t> counts;
    for (std::int64_t i = 0; i < store.size(split); ++i) {
      ++counts[store.names()[static_cast<std::size_t>(label_of(store.load(split, i)))]];
    }
    return counts;
  }
};

TEST_F(Stratify, TheStoreHasTheSharesOfEachLabel) {
  PrepareOptions with = of(200);
  const SampleStore store = SampleStore::open(run(with).store);
  const auto tenth = ElementsAre(Pair("common", 18), Pair("rare", 2));
  EXPECT_THAT(labels(store, Split::train), ElementsAre(Pair("common", 144), Pair("rare", 16)));
  EXPECT_THAT(labels(store, Split::dev), tenth);
  EXPECT_THAT(labels(store, Split::test), tenth);
  EXPECT_THAT(check_data(make_plan(with), [](const std::string&) {}).rows,
              ElementsAre(160, 20, 20));
  with.stratify = false;
  with.store = scratch_.path("r.sqlite");
  expect_refused(with, 2, "split of classes is by share there, not given here", "--rebuild");
}

// The shares are those of the rows that are kept.
TEST_F(Stratify, AfterRepeatedTextsAndOtherLabelsAreLeftOut) {
  PrepareOptions with = of(200);
  with.dedupe = true;
  const SampleStore store = SampleStore::open(run(with).store);
  EXPECT_THAT(labels(store, Split::train), ElementsAre(Pair("common", 116), Pair("rare", 12)));
  EXPECT_THAT(labels(store, Split::dev), ElementsAre(Pair("common", 14), Pair("rare", 2)));
  EXPECT_THAT(labels(store, Split::test), ElementsAre(Pair("common", 14), Pair("rare", 2)));
}

TEST_F(Stratify, IsRefusedWhereItMeansNothing) {
  PrepareOptions with = of(200);
  with.test_source = with.source;
  expect_refused(with, 2, "--stratify divides the rows of one file, but --dev or --test names one",
                 "leave out --stratify");
  with = of(200);
  with.task = input_with("regress", {"--target", "label"});
  expect_refused(with, 2, "--stratify needs a task with classes, and regress has none",
                 "leave out --stratify");
}

}  // namespace
}  // namespace bp::trainer
