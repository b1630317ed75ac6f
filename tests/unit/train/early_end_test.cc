// The training loop with what ends it early, with the other ways to save, and with the weights of
// its best checkpoint.
// docs/acceptance.md, Training: A run that ends early ends on all ranks after one step, with the
// same weights.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>

#include "base/text.h"
#include "tests/support/run_ranks.h"
#include "train_fixture.h"
#include "trainer/checkpoint/checkpoint_folder.h"
#include "trainer/model/files/safetensors.h"
#include "trainer/model/weights.h"
#include "trainer/optim/optimizer.h"
#include "trainer/tasks/classify/classifier_head.h"
#include "trainer/train/loop/loop.h"
#include "trainer/train/methods/freeze.h"
#include "trainer/train/methods/take_weights.h"

namespace bp::trainer {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

class EarlyEnd : public test::SmallData {
 protected:
  struct Plan {
    int ranks = 1;
    std::string run = "run";
    std::int64_t from = 0;               // the step of a checkpoint to resume from
    std::vector<double> scores = {0.5};  // of the evaluations of the whole run; the last stays
    std::chrono::milliseconds slow{0};   // of rank 0's clock, for an evaluation; others have none
    bool evaluation_due = false;         // at the start
    bool stop_asked = false;             // from the first step on
    bool take_best = false;              // in the end all ranks take the best weights
  };
  struct Ended {
    std::vector<TrainResult> of_ranks;
    std::vector<std::vector<at::Tensor>> parameters;  // of each rank
    int evaluations = 0;                              // of each rank
    std::vector<at::Tensor> evaluated;                // the weights of the last one
  };

  Ended train_as(const Plan& plan, const RunSettings& options) {
    Ended ended;
    ended.of_ranks.resize(static_cast<std::size_t>(plan.ranks));
    ended.parameters.resize(static_cast<std::size_t>(plan.ranks));
    std::filesystem::create_directories(path(plan.run));
    bp::test::run_ranks(plan.ranks, [&](Communicator& world) {
      const SampleStore store = SampleStore::open(store_path());
      Bert model(config(store, 0.1), make_classifier_head, options.precision,
                 static_cast<std::uint64_t>(world.rank() + 1));
      TrainJob job;
      job.store = store_path();
      job.rows = store.size(Split::train);
      job.lr = options.lr;
      job.main_score = {"accuracy"};
      freeze(model, options.freeze);
      const auto weights = [&model] {
        std::vector<at::Tensor> copies;
        for (const auto& [name, parameter] : model.parameters()) {
          copies.push_back(parameter.detach().clone());
        }
        return copies;
      };
      const std::string folder = path(plan.run + "/checkpoints");
      const std::string from = concat(folder, "/step-", plan.from);
      if (plan.from > 0) job.start = parse_state(read(from + "/state.json"));
      job.start.evaluation_due = plan.evaluation_due;
      std::chrono::steady_clock::time_point now{};
      job.now = [&now] { return now; };
      std::size_t number = 0;
      job.evaluate = [&]() -> DevScores {
        if (world.rank() == 0) now += plan.slow;
        const std::size_t at = std::min(plan.scores.size() - 1, number++);
        if (world.rank() == 0) ++ended.evaluations;
        if (world.rank() == 0) ended.evaluated = weights();
        return {EvaluationSummary{{{"loss", 1}, {"accuracy", plan.scores[at]}}}};
      };
      if (world.rank() == 0) drop_after(folder, plan.from);  // as a resumed run does
      std::optional<Checkpoints> checkpoints;
      if (world.rank() == 0 && !options.save_every.empty()) {
        CheckpointsOptions saving{folder, 99};
        saving.moments.reset();
        saving.averaged = options.ema > 0;
        if (options.optimizer_state) saving.moments = moment_names(options);
        if (plan.from > 0) saving.last = plan.from;
        checkpoints.emplace(saving, model);
        job.checkpoints = &*checkpoints;
      }
      if (world.rank() == 0) {
        if (plan.from > 0) job.resumed = from;
        job.metrics = path(plan.run + "/metrics.jsonl");
      }
      // Only the last rank is asked.
      if (plan.stop_asked && world.rank() == world.size() - 1) job.stop_file = store_path();
      const TrainResult result = train(world, options, job, model);
      if (plan.take_best) {
        take_weights(
            world, world.rank() == 0 ? concat(folder, "/step-", result.end.best.front().step) : "",
            model);
      }
      const auto rank = static_cast<std::size_t>(world.rank());
      ended.of_ranks[rank] = result;
      ended.parameters[rank] = weights();
    });
    return ended;
  }

  static void drop_after(const std::string& folder, std::int64_t step) {
    for (const std::int64_t later : CheckpointFolder(folder).steps()) {
      if (later > step) std::filesystem::remove_all(concat(folder, "/step-", later));
    }
  }
  static std::string read(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  [[nodiscard]] std::vector<std::int64_t> saved_steps(const std::string& run = "run") const {
    std::vector<std::int64_t> steps = CheckpointFolder(path(run + "/checkpoints")).steps();
    std::ranges::sort(steps);
    return steps;
  }
  static void expect_equal(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(a[i].equal(b[i])) << i;
  }
  // 20 steps, an evaluation each second one.
  static RunSettings often() {
    RunSettings options = test::SmallData::options();
    options.eval_every = {every_steps(2)};
    options.save_every = {every_steps(1000)};
    return options;
  }
};

// docs/features.md, Loop and checkpoints: An early stop | `--patience`, `--min-improvement`
TEST_F(EarlyEnd, PatienceEndsTheRunOnAllRanksAfterTheSameEvaluation) {
  RunSettings options = often();
  options.early_stop.patience = 2;
  for (const int ranks : {1, 3}) {
    const Ended ended = train_as({.ranks = ranks,
                                  .run = concat("run-", ranks),
                                  .scores = {0.5, 0.6, 0.6, 0.7, 0.6, 0.5, 0.9}},
                                 options);
    for (const TrainResult& result : ended.of_ranks) {
      EXPECT_EQ(result.end.step, 12);
      EXPECT_EQ(result.ended, RunEnd::patience);
      EXPECT_FALSE(result.stopped);
      EXPECT_EQ(result.end.best.front().step, 8);
    }
    EXPECT_EQ(ended.evaluations, 6);
    EXPECT_THAT(saved_steps(concat("run-", ranks)), ElementsAre(2, 4, 8, 12));
    for (const auto& parameters : ended.parameters) {
      expect_equal(parameters, ended.parameters.front());
    }
  }
}

TEST_F(EarlyEnd, TheCountOfPatienceIsInTheCheckpoint) {
  RunSettings options = often();
  options.early_stop.patience = 3;
  options.save_every = {every_steps(5)};
  const std::vector<double> scores = {0.6, 0.5, 0.5, 0.4, 0.9};
  const Ended whole = train_as({.run = "run", .scores = scores}, options);
  EXPECT_EQ(whole.of_ranks[0].end.step, 8);
  // After step 5 and its two evaluations.
  const Ended rest = train_as({.run = "run", .from = 5, .scores = {0.5, 0.4, 0.9}}, options);
  EXPECT_EQ(rest.of_ranks[0].end.step, 8);
  EXPECT_EQ(rest.of_ranks[0].ended, RunEnd::patience);
  expect_equal(rest.parameters[0], whole.parameters[0]);
  // The run that ended makes no further step, and with more patience it continues.
  EXPECT_EQ(train_as({.run = "run", .from = 8}, options).of_ranks[0].end.step, 8);
  options.early_stop.patience = 5;
  EXPECT_EQ(train_as({.run = "run", .from = 8, .scores = {0.5, 0.4}}, options).of_ranks[0].end.step,
            12);
}

TEST_F(EarlyEnd, ATargetEndsTheRunOnceItIsReached) {
  RunSettings options = often();
  options.early_stop.target = 0.75;
  const TrainResult result =
      train_as({.ranks = 2, .scores = {0.5, 0.7, 0.75, 0.9}}, options).of_ranks[1];
  EXPECT_EQ(result.end.step, 6);
  EXPECT_EQ(result.ended, RunEnd::target);
  EXPECT_EQ(result.ended_text, "the accuracy of dev, 0.75, reaches --target-score 0.75");
}

// Only the clock of rank 0 counts. The evaluation after step 2 takes longer than the limit.
// docs/features.md, Loop and checkpoints: An end by epochs or parts of them, steps, time or score |
// `--epochs 2.5`, `--steps`, `--max-time`, `--target-score`
TEST_F(EarlyEnd, MaxTimeEndsTheRunOnAllRanksWithAnEvaluationAndACheckpoint) {
  RunSettings options = often();
  options.early_stop.max_time = 1s;
  const Ended ended = train_as({.ranks = 3, .slow = 1100ms}, options);
  for (const TrainResult& result : ended.of_ranks) {
    EXPECT_EQ(result.end.step, 3);
    EXPECT_EQ(result.ended, RunEnd::max_time);
    EXPECT_FALSE(result.stopped);
  }
  EXPECT_EQ(ended.evaluations, 2);
  EXPECT_THAT(saved_steps(), ElementsAre(2, 3));
  EXPECT_EQ(parse_state(read(path("run/checkpoints/step-2/state.json"))).elapsed, 1.1);
  EXPECT_EQ(parse_state(read(path("run/checkpoints/step-3/state.json"))).elapsed, 2.2);
  // The time counts on, so the run that ended makes no further step.
  EXPECT_EQ(train_as({.ranks = 3, .from = 3}, options).of_ranks[2].end.step, 3);
}

// The evaluation at the start takes longer than the limit, so both end the run after step 1.
TEST_F(EarlyEnd, ARequestToStopGoesBeforeTheTime) {
  RunSettings options = often();
  options.early_stop.max_time = 1s;
  const Ended ended =
      train_as({.ranks = 2, .slow = 1100ms, .evaluation_due = true, .stop_asked = true}, options);
  for (const TrainResult& result : ended.of_ranks) {
    EXPECT_EQ(result.end.step, 1);
    EXPECT_TRUE(result.stopped);
  }
}

// docs/features.md, Loop and checkpoints: Checkpoints by steps, time or epochs | `--save-every`
TEST_F(EarlyEnd, SavesByTimeAndByPartsOfAnEpoch) {
  RunSettings options = often();
  options.steps = 0;
  options.epochs = 1.5;  // 120 rows in 15 steps
  options.eval_every = {every_steps(1000)};
  options.save_every = parse_intervals("--save-every", "0.25e");
  const Ended ended = train_as({.run = "parts"}, options);
  EXPECT_EQ(ended.of_ranks[0].end.step, 23) << "the step with row 60 of the second epoch";
  EXPECT_THAT(saved_steps("parts"), ElementsAre(4, 8, 12, 15, 19, 23));
  // The clock moves by half a second at each evaluation.
  options.save_every = parse_intervals("--save-every", "1s");
  options.eval_every = {every_steps(2)};
  options.epochs = 1;
  EXPECT_EQ(train_as({.run = "time", .slow = 500ms}, options).of_ranks[0].end.step, 15);
  // The first evaluation is the best one, and its checkpoint begins the count. The time is up in
  // the evaluations after steps 6, 10 and 14, and the next step tells.
  EXPECT_THAT(saved_steps("time"), ElementsAre(2, 7, 11, 15));
}

// docs/features.md, Loop and checkpoints: Evaluations by steps, epochs, rows or time, or none |
// `--eval-every`
TEST_F(EarlyEnd, EvaluatesWhenAsked) {
  RunSettings options = often();
  options.steps = 0;
  options.epochs = 1;  // 120 rows in 15 steps
  const auto evaluations = [&](const std::string& every, std::chrono::milliseconds slow = 0ms) {
    options.eval_every = parse_intervals("--eval-every", every);
    const Ended ended = train_as({.run = "r" + every, .slow = slow}, options);
    EXPECT_EQ(ended.of_ranks[0].end.dev.has_value(), every != "none");
    return ended.evaluations;
  };
  EXPECT_EQ(evaluations("4"), 4) << "and at the end";
  EXPECT_EQ(evaluations("0.5e"), 2);
  EXPECT_EQ(evaluations("30r"), 4);
  EXPECT_EQ(evaluations("5,30r"), 6);
  EXPECT_EQ(evaluations("none"), 0);
  EXPECT_EQ(evaluations("1s"), 1) << "the clock stands";
}

// docs/features.md, Loop and checkpoints: A chosen interval of the lines of metrics.jsonl |
// `--log-every`
TEST_F(EarlyEnd, RecordsEachNthStep) {
  RunSettings options = often();
  options.steps = 10;
  options.log_every = 4;
  (void)train_as({.run = "log"}, options);
  std::istringstream lines(read(path("log/metrics.jsonl")));
  std::vector<std::string> steps;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("\"lr\"") != std::string::npos) steps.push_back(line.substr(0, line.find(',')));
  }
  EXPECT_THAT(steps, ElementsAre("{\"step\":1", "{\"step\":4", "{\"step\":8", "{\"step\":10"));
}

// docs/features.md, Loop and checkpoints: No checkpoints, or checkpoints without the optimizer |
// `--save-every none`, `--no-optimizer-state`
TEST_F(EarlyEnd, WithoutCheckpointsTheRunComputesTheSame) {
  RunSettings options = often();
  const Ended saving = train_as({.run = "saving"}, options);
  options.save_every = parse_intervals("--save-every", "none");
  const Ended none = train_as({.run = "none"}, options);
  EXPECT_FALSE(std::filesystem::exists(path("none/checkpoints")));
  expect_equal(none.parameters[0], saving.parameters[0]);
}

TEST_F(EarlyEnd, WithoutTheOptimizersStateItBeginsAgain) {
  RunSettings options = often();
  options.save_every = {every_steps(10)};
  const Ended whole = train_as({.run = "whole"}, options);
  options.optimizer_state = false;
  const Ended small = train_as({.run = "small"}, options);
  expect_equal(small.parameters[0], whole.parameters[0]);
  EXPECT_FALSE(std::filesystem::exists(path("small/checkpoints/step-10/optimizer.safetensors")));
  EXPECT_FALSE(parse_state(read(path("small/checkpoints/step-10/state.json"))).optimizer_state);
  const Ended rest = train_as({.run = "small", .from = 10}, options);
  EXPECT_EQ(rest.of_ranks[0].end.step, 20);
  EXPECT_FALSE(rest.parameters[0][0].equal(whole.parameters[0][0])) << "the moments are gone";
}

// docs/acceptance.md, Training: Averaged weights follow their formula, and are evaluated, saved and
// resumed.
TEST_F(EarlyEnd, AveragedWeightsAreEvaluatedSavedAndResumed) {
  RunSettings options = often();
  options.save_every = {every_steps(5)};
  const Ended plain = train_as({.ranks = 2, .run = "plain"}, options);
  options.ema = 0.9;
  const Ended whole = train_as({.ranks = 2, .run = "whole"}, options);
  expect_equal(whole.parameters[0], whole.evaluated);
  expect_equal(whole.parameters[1], whole.parameters[0]);
  EXPECT_FALSE(whole.parameters[0][0].equal(plain.parameters[0][0]));
  // The averages have no effect on training, whose weights are beside them in the checkpoint.
  const auto tensors = [this](const std::string& file) {
    SafetensorsReader reader(path(file));
    std::map<std::string, std::vector<char>> all;
    for (const SafetensorsEntry& entry : reader.header().entries) {
      all[entry.name].resize(entry.end - entry.begin);
      reader.read(entry, all[entry.name].data());
    }
    return all;
  };
  const auto trained = tensors("whole/checkpoints/step-20/optimizer.safetensors");
  for (const auto& [name, values] : tensors("plain/checkpoints/step-20/optimizer.safetensors")) {
    EXPECT_EQ(trained.at(name), values) << name;
  }
  EXPECT_EQ(trained.at("weight.classifier.weight"),
            tensors("plain/checkpoints/step-20/model.safetensors").at("classifier.weight"));

  std::filesystem::copy(
      path("whole"), path("rest"),
      std::filesystem::copy_options::recursive | std::filesystem::copy_options::copy_symlinks);
  const Ended rest = train_as({.ranks = 2, .run = "rest", .from = 10}, options);
  expect_equal(rest.parameters[0], whole.parameters[0]);
  expect_equal(rest.parameters[1], whole.parameters[0]);
  for (const char* name : {"model", "optimizer"}) {
    const std::string file = concat("/checkpoints/step-20/", name, ".safetensors");
    EXPECT_TRUE(read(path("rest" + file)) == read(path("whole" + file))) << name;
  }
  // Without --ema the run continues with the weights and not with their averages.
  options.ema = 0;
  expect_equal(train_as({.ranks = 2, .run = "rest", .from = 10}, options).parameters[0],
               plain.parameters[0]);
}

// docs/acceptance.md, Training: Frozen weights stay as they are and are not sent.
TEST_F(EarlyEnd, FrozenWeightsStayBitForBitAndTakeNoPart) {
  RunSettings options = often();
  options.save_every = {every_steps(10)};
  const Ended free = train_as({.ranks = 2, .run = "free"}, options);
  options.freeze = {"embeddings", "0"};
  options.layer_decay = 0.5;
  const Ended whole = train_as({.ranks = 2, .run = "whole"}, options);
  const SampleStore store = SampleStore::open(store_path());
  const Bert first(config(store, 0.1), make_classifier_head, Precision::fp32, 1);  // rank 0's seed
  for (std::size_t i = 0; i < whole.parameters[0].size(); ++i) {
    const auto& [name, weight] = first.parameters()[i];
    const bool frozen =
        name.starts_with("bert.embeddings.") || name.starts_with("bert.encoder.layer.0.");
    EXPECT_EQ(whole.parameters[0][i].equal(weight), frozen) << name;
    EXPECT_TRUE(whole.parameters[1][i].equal(whole.parameters[0][i])) << name;
  }
  const std::string state = read(path("whole/checkpoints/step-20/optimizer.safetensors"));
  EXPECT_EQ(state.find("bert.embeddings."), std::string::npos);
  EXPECT_EQ(state.find("bert.encoder.layer.0."), std::string::npos);
  EXPECT_NE(state.find("bert.encoder.layer.1."), std::string::npos);
  EXPECT_LT(whole.of_ranks[0].end.totals.gradient_bytes,
            free.of_ranks[0].end.totals.gradient_bytes);
  const Ended rest = train_as({.ranks = 2, .run = "whole", .from = 10}, options);
  expect_equal(rest.parameters[0], whole.parameters[0]);
}

// docs/features.md, Loop and checkpoints: The best weights, by a score of your choice |
// `--best-metric`, `--final best`
TEST_F(EarlyEnd, AllRanksTakeTheBestWeights) {
  RunSettings options = often();
  options.save_every = {every_steps(1)};
  for (const int ranks : {1, 3}) {
    const std::string run = concat("best-", ranks);
    const Ended ended = train_as(
        {.ranks = ranks, .run = run, .scores = {0.5, 0.6, 0.8, 0.7}, .take_best = true}, options);
    EXPECT_EQ(ended.of_ranks[0].end.best.front().step, 6);
    const SampleStore store = SampleStore::open(store_path());
    Bert saved(config(store, 0), make_classifier_head, Precision::fp32, 77);
    const LoadReport report =
        load_weights(saved, path(concat(run, "/checkpoints/step-6/model.safetensors")));
    EXPECT_TRUE(report.complete());
    std::vector<at::Tensor> expected;
    for (const auto& [name, parameter] : saved.parameters()) expected.push_back(parameter);
    for (const auto& parameters : ended.parameters) expect_equal(parameters, expected);
  }
}

}  // namespace
}  // namespace bp::trainer
