// Training by what depends on the epoch: lists of rates and of micro-batches, batches of tokens, a
// curriculum, and layers that begin later.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "base/text.h"
#include "tests/support/run_ranks.h"
#include "tests/support/torch_model.h"
#include "train_fixture.h"
#include "trainer/optim/model_parts.h"
#include "trainer/report/metrics.h"
#include "trainer/tasks/classify/classifier_head.h"
#include "trainer/train/loop/loop.h"

namespace bp::trainer {
namespace {

using ::testing::ElementsAre;

class PerEpochLoop : public test::SmallData {
 protected:
  // Returns rank 0's parameters. Writes metrics.jsonl.
  std::vector<at::Tensor> train_on(int ranks,
                                   const RunSettings& options,
                                   const std::vector<RowShares>& shares = {}) {
    std::vector<at::Tensor> parameters;
    bp::test::run_ranks(ranks, [&](Communicator& world) {
      const SampleStore store = SampleStore::open(store_path());
      Bert model(config(store, 0.1), make_classifier_head, options.precision, 1);
      TrainJob job;
      job.store = store_path();
      job.rows = store.size(Split::train);
      job.lengths = std::make_shared<std::vector<std::int32_t>>(store.lengths(Split::train));
      job.lr = options.lr;
      job.start.shares = shares;
      job.evaluate = [] { return DevScores{}; };
      if (world.rank() == 0) job.metrics = path("metrics.jsonl");
      (void)train(world, options, job, model);
      if (world.rank() != 0) return;
      for (const auto& [name, parameter] : model.parameters()) {
        EXPECT_TRUE(parameter.requires_grad()) << name;
        parameters.push_back(parameter.detach().clone());
      }
    });
    return parameters;
  }
  [[nodiscard]] std::vector<StepRecord> records() const {
    return read_metrics(path("metrics.jsonl")).steps;
  }
  static RunSettings by_epochs(double epochs) {
    RunSettings options = test::SmallData::options();
    options.steps = 0;
    options.epochs = epochs;
    return options;
  }
};

// fairseq's lists came into force an epoch too late.
// docs/features.md, Gradients: Another accumulation in each epoch | `--accumulate 1,2,4`
TEST_F(PerEpochLoop, ListsOfMicroBatchesAndRatesAreNotShiftedByOne) {
  RunSettings options = by_epochs(4);
  options.schedule = "constant";
  options.accumulate = PerEpoch(std::vector{1, 3, 5});
  options.lr = PerEpoch(std::vector{1e-3, 5e-4, 1e-4});
  (void)train_on(2, options);
  // 120 rows in steps of 16, 48 and 80.
  std::map<int, std::set<double>> rates;
  std::map<int, int> steps;
  for (const StepRecord& record : records()) {
    const int epoch = static_cast<int>(std::ceil(record.epoch));
    ++steps[epoch];
    rates[epoch].insert(record.lr);
  }
  EXPECT_THAT(steps,
              ElementsAre(std::pair(1, 8), std::pair(2, 3), std::pair(3, 2), std::pair(4, 2)));
  EXPECT_THAT(rates[1], ElementsAre(1e-3));
  EXPECT_THAT(rates[2], ElementsAre(5e-4));
  EXPECT_THAT(rates[3], ElementsAre(1e-4));
  EXPECT_THAT(rates[4], ElementsAre(1e-4)) << "the last one holds for all later epochs";
}

struct Shared {
  int ranks;
  PerEpoch<int> accumulate;
  std::vector<RowShares> shares = {};
};

// docs/features.md, Splits and batches: Batches of at most N tokens | `--max-tokens`
TEST_F(PerEpochLoop, LayoutsTrainTheSameModel) {
  RunSettings options = by_epochs(2);
  options.max_tokens = 40;
  options.curriculum = 0.5;
  options.group_lengths = 8;
  options.unfreeze_every = {.epochs = 0.5};
  options.lr = PerEpoch(std::vector{1e-3, 5e-4});
  options.accumulate = PerEpoch(std::vector{4, 8});
  const auto one = train_on(1, options);
  const auto records_of_one = records();
  EXPECT_GT(records_of_one.size(), 10U);
  options.share = "auto";  // which leaves shares from a later step on as they are
  const std::vector<RowShares> changing = {{.from_step = 0, .rows = {5, 1, 0, 2}},
                                           {.from_step = 3, .rows = {1, 1, 7, 0}},
                                           {.from_step = 8, .rows = {0, 9, 2, 3}},
                                           {.from_step = 1000, .rows = {1, 1, 1, 1}}};
  for (const Shared& shared :
       {Shared{4, PerEpoch(std::vector{1, 2})}, Shared{4, PerEpoch(std::vector{1, 2}), changing},
        Shared{2, PerEpoch(std::vector{2, 4})}}) {
    options.accumulate = shared.accumulate;
    EXPECT_LE(bp::test::distance(one, train_on(shared.ranks, options, shared.shares)), 2e-5)
        << shared.ranks;
    const auto others = records();
    ASSERT_EQ(others.size(), records_of_one.size());
    for (std::size_t i = 0; i < others.size(); ++i) {
      EXPECT_EQ(others[i].samples, records_of_one[i].samples);
      EXPECT_NEAR(others[i].loss, records_of_one[i].loss, 1e-6);
    }
  }
}

// The model has two layers, so its parts are at the distances 0 (head), 1, 2 and 3 (embeddings).
TEST_F(PerEpochLoop, LayersAreUnfrozenFromTheTopDown) {
  RunSettings options = test::SmallData::options();
  options.schedule = "constant";
  options.unfreeze_every = every_steps(3);
  options.steps = 1;
  const SampleStore store = SampleStore::open(store_path());
  const Bert first(config(store, 0.1), make_classifier_head, Precision::fp32, 1);
  const std::vector<std::string> layers = layers_of(first.config());
  for (const int steps : {3, 4, 7, 10}) {
    options.steps = steps;
    const auto trained = train_on(2, options);
    const int deepest = (steps - 1) / 3;
    for (std::size_t i = 0; i < trained.size(); ++i) {
      const auto& [name, before] = first.parameters()[i];
      EXPECT_EQ(trained[i].equal(before.detach()), depth_below_head(name, layers) > deepest)
          << name << " after " << steps;
    }
  }
}

TEST_F(PerEpochLoop, TheMeanOfTheLastWeightsIsTheModel) {
  RunSettings options = test::SmallData::options();
  options.schedule = "constant";
  std::vector<at::Tensor> mean;
  for (const int steps : {7, 8}) {
    options.steps = steps;
    const auto after = train_on(2, options);
    for (std::size_t i = 0; i < after.size(); ++i) {
      if (steps == 7) {
        mean.push_back(after[i] / 2);
      } else {
        mean[i] += after[i] / 2;
      }
    }
  }
  options.swa_from = 0.75;
  EXPECT_LE(bp::test::distance(mean, train_on(2, options)), 1e-7);
}

}  // namespace
}  // namespace bp::trainer
