// Training that resumes from a checkpoint: bit for bit with the same world, and with each row
// exactly once per epoch with another.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "tests/support/run_ranks.h"
#include "train_fixture.h"
#include "trainer/checkpoint/checkpoint_state.h"
#include "trainer/checkpoint/manifest.h"
#include "trainer/optim/optimizer.h"
#include "trainer/report/metrics.h"
#include "trainer/tasks/classify/classifier_head.h"
#include "trainer/train/loop/loop.h"

namespace bp::trainer {
namespace {

class ResumeLoop : public test::SmallData {
 protected:
  struct Part {
    int ranks = 2;
    std::string run;            // the name of the run's folder
    std::int64_t from = 0;      // the step of a checkpoint, or 0 to start from the beginning
    std::int64_t stop_at = -1;  // the last step, after which the run is asked to stop
  };
  struct Result {
    std::vector<at::Tensor> parameters;  // rank 0's
    TrainResult train;
    int evaluations = 0;
  };

  Result train_part(const Part& part, const RunSettings& options) {
    Result result;
    std::atomic<int> evaluations{0};
    std::filesystem::create_directories(path(part.run));
    bp::test::run_ranks(part.ranks, [&](Communicator& world) {
      const SampleStore store = SampleStore::open(store_path());
      Bert model(config(store, 0.1), make_classifier_head, options.precision,
                 static_cast<std::uint64_t>(world.rank() + 1));
      model.use_sparse_gradients();  // as in a run of bert_train
      TrainJob job;
      job.store = store_path();
      job.rows = store.size(Split::train);
      job.lengths = std::make_shared<std::vector<std::int32_t>>(store.lengths(Split::train));
      job.lr = options.lr;
      job.main_score = {"accuracy"};
      int number = 0;  // of evaluations on this rank: all ranks must have the same results
      job.evaluate = [&]() -> DevScores {
        ++evaluations;
        ++number;
        return {EvaluationSummary{{{"loss", 1}, {"accuracy", 0.5 + 0.01 * (number % 3)}}}};
      };
      const std::string folder = path(part.run + "/checkpoints");
      const std::string from = concat(folder, "/step-", part.from);
      if (part.from > 0) job.start = parse_state(read(from + "/state.json"));
      std::optional<Checkpoints> checkpoints;
      if (world.rank() == 0) {
        CheckpointsOptions saving{folder, 9};
        saving.moments = moment_names(options);
        saving.averaged = options.swa_from > 0;
        if (part.from > 0) {
          job.resumed = from;
          saving.last = part.from;
        }
        checkpoints.emplace(saving, model);
        job.checkpoints = &*checkpoints;
        job.metrics = path(part.run + "/metrics.jsonl");
      }
      // The run sees the file at the step after the one at which the file exists.
      job.stop_file = concat(path(part.run), "/stop-", part.stop_at);
      const TrainResult trained = train(world, options, job, model);
      if (world.rank() != 0) return;
      result.train = trained;
      for (const auto& [name, parameter] : model.parameters()) {
        result.parameters.push_back(parameter.detach().clone());
      }
    });
    result.evaluations = evaluations / part.ranks;
    return result;
  }

  static std::string read(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // Removes later checkpoints, as if the run had been killed after this step.
  void drop_after(const std::string& run, std::int64_t step) const {
    for (std::int64_t later = step + 1; later <= 30; ++later) {
      std::filesystem::remove_all(path(concat(run, "/checkpoints/step-", later)));
    }
  }
  static RunSettings short_run() {
    RunSettings options = test::SmallData::options();
    options.steps = 0;
    options.epochs = 2;  // 120 rows in 8 steps per epoch: 7 of 16 rows and one of 8
    options.warmup = 0.2;
    options.save_every = {every_steps(5)};
    return options;
  }
  static void expect_equal(const Result& a, const Result& b) {
    ASSERT_EQ(a.parameters.size(), b.parameters.size());
    for (std::size_t i = 0; i < a.parameters.size(); ++i) {
      EXPECT_TRUE(a.parameters[i].equal(b.parameters[i])) << i;
    }
  }
};

// A checkpoint has no residuals, so the run that saves it drops its own.
TEST_F(ResumeLoop, IsBitForBitTheUninterruptedRunWithErrorFeedback) {
  RunSettings options = short_run();
  options.wire = DataType::bf16;
  const Result without = train_part({.ranks = 2, .run = "without"}, options);
  options.error_feedback = true;
  const Result whole = train_part({.ranks = 2, .run = "whole"}, options);
  EXPECT_FALSE(whole.parameters[0].equal(without.parameters[0])) << "residuals must have an effect";
  for (const std::int64_t from : {5, 10}) {
    SCOPED_TRACE(from);
    const std::string copy = concat("copy-", from);
    std::filesystem::copy(
        path("whole"), path(copy),
        std::filesystem::copy_options::recursive | std::filesystem::copy_options::copy_symlinks);
    drop_after(copy, from);
    expect_equal(train_part({.ranks = 2, .run = copy, .from = from}, options), whole);
  }
  options.save_every = {every_steps(1000)};
  const Result rarely = train_part({.ranks = 2, .run = "rarely"}, options);
  EXPECT_FALSE(rarely.parameters[0].equal(whole.parameters[0]))
      << "without a checkpoint the residuals must stay";
}

// docs/acceptance.md, Runs: A resumed run has the bits of an uninterrupted one.
TEST_F(ResumeLoop, IsBitForBitTheUninterruptedRun) {
  for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::fp16}) {
    RunSettings options = short_run();
    options.precision = precision;
    options.loss_scale = default_loss_scale(precision);
    const std::string run = concat("precision-", static_cast<int>(precision));
    const Result whole = train_part({.ranks = 2, .run = run}, options);
    EXPECT_EQ(whole.train.end.step, 16);
    for (const std::int64_t from : {5, 8, 10, 15, 16}) {
      SCOPED_TRACE(concat(run, " from ", from));
      EXPECT_EQ(damage_of(path(concat(run, "/checkpoints/step-", from))), "");
      const std::string copy = concat(run, "-", from);
      std::filesystem::copy(
          path(run), path(copy),
          std::filesystem::copy_options::recursive | std::filesystem::copy_options::copy_symlinks);
      drop_after(copy, from);
      const Result resumed = train_part({.ranks = 2, .run = copy, .from = from}, options);
      EXPECT_EQ(resumed.train.end.step, 16);
      EXPECT_EQ(resumed.train.epochs, 2.0);
      expect_equal(resumed, whole);
      EXPECT_EQ(resumed.train.end.totals.samples, 240);
      // Repeated steps must have only one line each.
      const Metrics metrics = read_metrics(path(copy + "/metrics.jsonl"));
      ASSERT_EQ(metrics.steps.size(), 16U);
      for (std::size_t i = 0; i < 16; ++i) {
        EXPECT_EQ(metrics.steps[i].step, static_cast<std::int64_t>(i) + 1);
      }
    }
  }
}

// The mean of weights begins after the first of these checkpoints, and the last layer in between.
TEST_F(ResumeLoop, IsBitForBitTheUninterruptedRunWithWhatDependsOnThePlace) {
  RunSettings options = short_run();
  options.max_tokens = 24;
  options.curriculum = 0.5;
  options.group_lengths = 8;
  options.accumulate = PerEpoch(std::vector{1, 2});
  options.lr = PerEpoch(std::vector{1e-3, 5e-4});
  options.unfreeze_every = {.epochs = 0.4};
  options.swa_from = 0.4;
  options.checkpoint_activations = true;
  options.force_anneal = 2;
  const Result whole = train_part({.ranks = 3, .run = "whole"}, options);
  EXPECT_GT(whole.train.end.step, 10);
  EXPECT_GT(whole.train.end.averaged, 0);
  for (const std::int64_t from : {5, 10}) {
    SCOPED_TRACE(from);
    const std::string copy = concat("copy-", from);
    std::filesystem::copy(
        path("whole"), path(copy),
        std::filesystem::copy_options::recursive | std::filesystem::copy_options::copy_symlinks);
    drop_after(copy, from);
    expect_equal(train_part({.ranks = 3, .run = copy, .from = from}, options), whole);
  }
}

// Rank 0 alone reads the moments; without them the other ranks once made other updates.
// docs/features.md, Loop and checkpoints: Exact resuming inside an epoch | always
TEST_F(ResumeLoop, IsBitForBitTheUninterruptedRunWithEachOptimizer) {
  for (const char* name : {"adam", "sgd", "lion", "lamb", "adadelta"}) {
    SCOPED_TRACE(name);
    RunSettings options = short_run();
    options.epochs = 1;
    options.optimizer = name;
    if (options.optimizer == "sgd") options.momentum = 0.9;
    const std::string run = concat("run-", name);
    const Result whole = train_part({.ranks = 2, .run = run}, options);
    drop_after(run, 5);
    expect_equal(train_part({.ranks = 2, .run = run, .from = 5}, options), whole);
  }
}

// docs/features.md, Evaluation and reports: Evaluation by epochs or steps, or before the first step
// | `--eval-every`, `--eval-first`
TEST_F(ResumeLoop, SavesWhenDueAndWhenDevIsTheBest) {
  RunSettings options = short_run();
  options.save_every = {every_steps(6)};
  options.eval_every = {every_steps(4)};
  (void)train_part({.ranks = 1, .run = "run"}, options);  // 15 steps of 8 rows per epoch
  std::vector<int> saved;
  for (int step = 0; step <= 30; ++step) {
    if (std::filesystem::exists(path(concat("run/checkpoints/step-", step)))) saved.push_back(step);
  }
  // The accuracies at steps 4, 8, ..., 28 and 30 are .51 .52 .50 .51 .52 .50 .51 and .52.
  EXPECT_THAT(saved, ::testing::ElementsAre(4, 6, 8, 12, 18, 24, 30));
  const CheckpointState end = parse_state(read(path("run/checkpoints/step-30/state.json")));
  EXPECT_THAT(steps_of(end.best), ::testing::ElementsAre(8));
  EXPECT_EQ(end.best[0].dev.at("accuracy"), 0.52);
  EXPECT_EQ(std::filesystem::read_symlink(path("run/checkpoints/best")), "step-8");
}

TEST_F(ResumeLoop, SavesWhenDevIsAmongTheBest) {
  RunSettings options = short_run();
  options.save_every = {every_steps(100)};
  options.eval_every = {every_steps(4)};
  options.keep_best = 3;
  (void)train_part({.ranks = 1, .run = "run"}, options);
  const CheckpointState end = parse_state(read(path("run/checkpoints/step-30/state.json")));
  // The accuracies are those of the test above, with the third .52 at step 30.
  EXPECT_THAT(steps_of(end.best), ::testing::ElementsAre(8, 20, 30));
  for (const std::int64_t step : steps_of(end.best)) {
    EXPECT_EQ(damage_of(path(concat("run/checkpoints/step-", step))), "");
  }
  EXPECT_FALSE(std::filesystem::exists(path("run/checkpoints/step-24")));
}

// docs/acceptance.md, Runs: A run resumes with 4, then 2, then 1 rank, and uses each row once an
// epoch.
TEST_F(ResumeLoop, FourRanksThenTwoThenOneUseEachRowOncePerEpoch) {
  RunSettings options = short_run();
  options.batch = 4;
  options.save_every = {every_steps(3)};
  options.trace = path("trace");
  options.epochs = 1;
  const auto train_on = [&](int ranks, std::int64_t from) {
    return train_part({.ranks = ranks, .run = "run", .from = from}, options).train.end.step;
  };
  EXPECT_EQ(train_on(4, 0), 8);       // 7 steps of 16 rows, one of 8
  drop_after("run", 3);               // 48 rows
  EXPECT_EQ(train_on(2, 3), 3 + 9);   // 72 rows are left, 8 per step
  drop_after("run", 6);               // 72 rows
  EXPECT_EQ(train_on(1, 6), 6 + 12);  // 48 rows are left, 4 per step
  std::map<std::int64_t, int> seen;
  for (int rank = 0; rank < 4; ++rank) {
    std::ifstream in(concat(path("trace"), "/rank-", rank, ".jsonl"));
    for (std::string text; std::getline(in, text);) {
      const auto line = nlohmann::json::parse(text);
      for (const auto& micro : line["samples"]) {
        for (const auto& id : micro) ++seen[id.get<std::int64_t>()];
      }
    }
  }
  EXPECT_EQ(seen.size(), 120U);
  for (const auto& [id, times] : seen) EXPECT_EQ(times, 1) << id;
}

TEST_F(ResumeLoop, AStopSavesAndADueEvaluationHappensAfterResuming) {
  RunSettings options = short_run();
  options.eval_every = {every_steps(4)};
  const Result whole = train_part({.ranks = 2, .run = "whole"}, options);
  EXPECT_EQ(whole.evaluations, 4);
  std::filesystem::create_directories(path("run"));
  std::ofstream(path("run/stop-1")).flush();
  const Result stopped = train_part({.ranks = 2, .run = "run", .stop_at = 1}, options);
  EXPECT_TRUE(stopped.train.stopped);
  EXPECT_EQ(stopped.train.end.step, 1);
  EXPECT_EQ(stopped.evaluations, 0);
  const Result resumed = train_part({.ranks = 2, .run = "run", .from = 1}, options);
  EXPECT_FALSE(resumed.train.stopped);
  EXPECT_EQ(resumed.evaluations, 4);
  expect_equal(resumed, whole);

  CheckpointState due = resumed.train.end;
  due.evaluation_due = true;
  std::ofstream(path("run/checkpoints/step-16/state.json")) << to_json(due);
  EXPECT_EQ(train_part({.ranks = 2, .run = "run", .from = 16}, options).evaluations, 1);
}

}  // namespace
}  // namespace bp::trainer
