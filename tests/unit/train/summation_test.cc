// The settings that decide the order of summation, as checkpoints record them.
#include "trainer/train/loop/summation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "tests/support/run_ranks.h"
#include "train_fixture.h"
#include "trainer/tasks/classify/classifier_head.h"

namespace bp::trainer {
namespace {

class SummationTest : public test::SmallData {
 protected:
  // The algorithm that is recorded for two ranks with this selection table and this option.
  std::string algorithm_with(const std::string& table, const std::string& algorithm = "auto") {
    std::string recorded;
    bp::test::RanksOptions options;
    options.communicator.algorithm = algorithm;
    std::istringstream in(table);
    options.measured = SelectionTable(in, "table");
    bp::test::run_ranks(
        2,
        [&](Communicator& world) {
          const SampleStore store = SampleStore::open(store_path());
          const Summation summation =
              summation_of(world, Bert(config(store, 0), make_classifier_head, {}, 1));
          if (world.rank() != 0) return;
          const auto found =
              std::ranges::find(summation, "algorithm", &Summation::value_type::first);
          recorded = found == summation.end() ? "" : found->second;
        },
        options);
    return recorded;
  }
};

// docs/acceptance.md, Training: A resumed run notices that sums are made by other algorithms.
TEST_F(SummationTest, DistinguishesTablesOfAlgorithms) {
  const std::string ring = "all_reduce gloo 2 1 - ring\n";
  EXPECT_EQ(algorithm_with(""), "auto");
  EXPECT_EQ(algorithm_with(ring).substr(0, 10), "selection ");
  EXPECT_EQ(algorithm_with(ring), algorithm_with("# measured again\n" + ring));
  EXPECT_NE(algorithm_with(ring), algorithm_with("all_reduce gloo 2 1 - double_tree\n"));
  EXPECT_EQ(algorithm_with(ring, "halving_doubling"), "halving_doubling");
}

TEST_F(SummationTest, DistinguishesSparseGradients) {
  bp::test::run_ranks(1, [&](Communicator& world) {
    const SampleStore store = SampleStore::open(store_path());
    Bert model(config(store, 0), make_classifier_head, {}, 1);
    const Summation dense = summation_of(world, model);
    model.use_sparse_gradients();
    EXPECT_NE(summation_of(world, model), dense);
  });
}

}  // namespace
}  // namespace bp::trainer
