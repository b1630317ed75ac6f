// Memory that runs out at any place of a run: in passes nothing but the time changes, and elsewhere
// the run ends with the cause and a checkpoint that is whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/text.h"
#include "tests/support/failing_allocator.h"
#include "tests/support/run_ranks.h"
#include "tests/support/torch_model.h"
#include "train_fixture.h"
#include "trainer/checkpoint/checkpoint_folder.h"
#include "trainer/optim/optimizer.h"
#include "trainer/report/metrics.h"
#include "trainer/tasks/classify/classifier_head.h"
#include "trainer/train/loop/loop.h"

namespace bp::trainer {
namespace {

using bp::test::distance;
using bp::test::FailingAllocator;
using ::testing::HasSubstr;

constexpr int kRanks = 2;

class MemoryLoop : public test::SmallData {
 protected:
  struct Result {
    std::vector<std::string> errors = {};  // of each rank
    std::vector<StepRecord> steps = {};
    std::vector<at::Tensor> parameters = {};
    std::int64_t allocations = 0;  // of the rank whose memory runs out
    std::int64_t failures = 0;
    std::optional<std::int64_t> checkpoint = {};  // the newest
    std::vector<std::string> damaged = {};        // checkpoints
    bool has_ended() const { return errors == std::vector<std::string>(kRanks); }
  };

  // Makes a few steps with checkpoints. The allocation `fail_at` of `rank` fails.
  Result trained(const RunSettings& options,
                 const Regularization& regularization,
                 int rank,
                 std::int64_t fail_at) {
    const std::string folder = path("checkpoints");
    std::filesystem::remove_all(folder);
    Result result;
    result.errors = bp::test::try_ranks(kRanks, [&](Communicator& world) {
      const SampleStore store = SampleStore::open(store_path());
      Bert model(config(store, 0.2), make_classifier_head, options.precision, 1);
      model.use_sparse_gradients();
      TrainJob job;
      job.store = store_path();
      job.rows = store.size(Split::train);
      job.lr = options.lr;
      job.regularization = regularization;
      job.evaluate = [] { return DevScores{}; };
      std::optional<Checkpoints> checkpoints;
      if (world.rank() == 0) {
        CheckpointsOptions saving{folder, 2};
        saving.moments = moment_names(options);
        checkpoints.emplace(saving, model);
        job.checkpoints = &*checkpoints;
        job.metrics = path("metrics.jsonl");
      }
      const bool fails = world.rank() == rank;
      FailingAllocator::Plan& plan = FailingAllocator::plan();
      plan = {.fail_at = fails ? fail_at : 0};
      const auto count = [&] {
        if (fails) {
          std::tie(result.allocations, result.failures) = {plan.allocations, plan.failures};
        }
        plan = {};
      };
      try {
        train(world, options, job, model);
      } catch (...) {
        count();
        throw;
      }
      count();
      if (world.rank() != 0) return;
      for (const auto& [name, parameter] : model.parameters()) {
        result.parameters.push_back(parameter.detach().clone());
      }
    });
    result.steps = read_metrics(path("metrics.jsonl")).steps;
    const auto found = CheckpointFolder(folder).newest_complete();
    result.checkpoint = found.step;
    result.damaged = found.skipped;
    return result;
  }

  static RunSettings few_steps() {
    RunSettings options = test::SmallData::options();
    options.steps = 3;
    options.accumulate = 2;
    options.save_every = {every_steps(1)};
    return options;
  }

  static void expect_same(const Result& a, const Result& b) {
    ASSERT_EQ(a.steps.size(), b.steps.size());
    for (std::size_t i = 0; i < a.steps.size(); ++i) {
      EXPECT_NEAR(a.steps[i].loss, b.steps[i].loss, 1e-6);
    }
    EXPECT_LT(distance(a.parameters, b.parameters), 2e-5);
  }
};

// docs/acceptance.md, Training: Memory that runs out at 200 places of passes changes no loss, and
// at 50 others the run ends with the cause and a whole checkpoint.
TEST_F(MemoryLoop, MemoryMayRunOutAnywhere) {
  const FailingAllocator memory;
  std::int64_t in_passes = 0;
  std::int64_t elsewhere = 0;
  std::mt19937 random(1);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same places each time
  for (const Regularization& regularization :
       {Regularization{}, Regularization{.r_drop = 0.5}, Regularization{.vat = 0.5}}) {
    RunSettings options = few_steps();
    options.checkpoint_activations = regularization.r_drop > 0;
    const Result expected = trained(options, regularization, 1, 0);
    ASSERT_TRUE(expected.has_ended());
    // With the places behind one that is in no pass, which are few.
    std::deque<std::pair<int, std::int64_t>> places;
    for (int i = 0; i < 75; ++i) {
      places.emplace_back(
          i % kRanks, std::uniform_int_distribution<std::int64_t>(1, expected.allocations)(random));
    }
    for (std::size_t drawn = places.size(); !places.empty();) {
      const auto [rank, at] = places.front();
      places.pop_front();
      const bool is_drawn = drawn > 0;
      if (is_drawn) --drawn;
      SCOPED_TRACE(concat("rank ", rank, ", allocation ", at));
      const Result result = trained(options, regularization, rank, at);
      if (result.failures == 0) continue;  // rank 0 and rank 1 do not allocate as often
      EXPECT_EQ(result.damaged, std::vector<std::string>());
      std::int64_t split = 0;
      for (const StepRecord& step : result.steps) split += step.split_batches;
      if (result.has_ended()) {
        ++in_passes;
        EXPECT_EQ(split, 1);
        EXPECT_EQ(result.checkpoint, 3);
        expect_same(result, expected);
      } else {
        ++elsewhere;
        for (int next = 1; is_drawn && next <= 4; ++next) places.emplace_back(rank, at + next);
        EXPECT_EQ(split, 0);
        const std::string& own = result.errors[static_cast<std::size_t>(rank)];
        EXPECT_THAT(own, HasSubstr("memory"));
        EXPECT_THAT(result.errors[static_cast<std::size_t>(1 - rank)],
                    HasSubstr(concat("rank ", rank)));
      }
    }
  }
  EXPECT_GE(in_passes, 200);
  EXPECT_GE(elsewhere, 50);
  RecordProperty("in_passes", std::to_string(in_passes));
  RecordProperty("elsewhere", std::to_string(elsewhere));
}

}  // namespace
}  // namespace bp::trainer
