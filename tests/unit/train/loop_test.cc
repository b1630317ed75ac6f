// The training loop: it gives the same model for every layout of ranks and micro-batches, uses each
// row once per epoch, and stops when it must. Longer than 400 lines, because all cases share the
// fixture that trains on any ranks.
#include "trainer/train/loop/loop.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <atomic>
#include <cmath>
#include <csignal>
#include <fstream>
#include <limits>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "tests/support/classify_data.h"
#include "tests/support/run_ranks.h"
#include "tests/support/torch_model.h"
#include "train_fixture.h"
#include "trainer/model/families/family.h"
#include "trainer/report/metrics.h"
#include "trainer/tasks/classify/class_config.h"
#include "trainer/tasks/classify/classifier_head.h"

namespace bp::trainer {
namespace {

struct TraceLine {
  std::vector<std::int64_t> samples;
  double loss = 0;
  std::string parameters;
};

std::vector<TraceLine> read_trace(const std::string& folder, int rank) {
  std::vector<TraceLine> lines;
  std::ifstream in(concat(folder, "/rank-", rank, ".jsonl"));
  for (std::string text; std::getline(in, text);) {
    const auto json = nlohmann::json::parse(text);
    TraceLine line;
    for (const auto& micro : json["samples"]) {
      for (const auto& id : micro) line.samples.push_back(id.get<std::int64_t>());
    }
    line.loss = json["loss"].get<double>();
    line.parameters = json["parameters"].get<std::string>();
    lines.push_back(line);
  }
  return lines;
}

class Train : public test::SmallData {
 protected:
  [[nodiscard]] TrainJob job(const SampleStore& store, const RunSettings& options) const {
    TrainJob job;
    job.store = store_path();
    job.rows = store.size(Split::train);
    job.lr = options.lr;
    job.evaluate = [] { return DevScores{}; };
    return job;
  }
  struct Result {
    std::vector<at::Tensor> parameters;  // rank 0's
    TrainResult train;
    Counters comm;  // of all collectives of the world
  };
  Result train_on(int ranks, const RunSettings& options, double dropout) {
    Result result;
    bp::test::run_ranks(ranks, [&](Communicator& world) {
      const SampleStore store = SampleStore::open(store_path());
      // Each rank begins with other weights. train() must broadcast those of rank 0.
      Bert model(spec_of(store, dropout), make_classifier_head, options.precision,
                 static_cast<std::uint64_t>(world.rank() + 1));
      if (sparse_) model.use_sparse_gradients();
      TrainJob with_metrics = job(store, options);
      if (world.rank() == 0) with_metrics.metrics = path("metrics.jsonl");
      const TrainResult trained = train(world, options, with_metrics, model);
      if (world.rank() != 0) return;
      result.train = trained;
      result.comm = world.counters();
      for (const auto& [name, parameter] : model.parameters()) {
        result.parameters.push_back(parameter.detach().clone());
      }
    });
    return result;
  }
  [[nodiscard]] EncoderSpec spec_of(const SampleStore& store, double dropout) const {
    EncoderSpec spec = config(store, dropout);
    if (family_.empty()) return spec;
    const int vocabulary = spec.vocabulary;
    spec = new_encoder(2, 64, family_);
    spec.vocabulary = vocabulary;
    spec.pad_id = store.pad_id();
    spec.head = head_of({store.names()}, spec);
    return spec;
  }
  bool sparse_ = true;  // as in a run of bert_train
  std::string family_;  // "": BERT, smaller than others
};

struct Layout {
  int ranks;
  int batch;
  int accumulate;
};

TEST_F(Train, LayoutsOfTheSameSamplesTrainTheSameModelEvenWithDropout) {
  RunSettings options = test::SmallData::options();
  options.trace = path("one");
  options.batch = 32;
  const Result one = train_on(1, options, 0.2);
  const auto expected = read_trace(path("one"), 0);
  ASSERT_EQ(expected.size(), 20U);
  EXPECT_EQ(one.train.end.step, 20);

  for (const Layout& layout : {Layout{4, 8, 1}, Layout{2, 8, 2}, Layout{1, 8, 4}}) {
    SCOPED_TRACE(concat(layout.ranks, " ranks, ", layout.accumulate, " micro-batches"));
    options.batch = layout.batch;
    options.accumulate = layout.accumulate;
    options.trace = path(concat("layout", layout.ranks));
    const Result other = train_on(layout.ranks, options, 0.2);
    EXPECT_LE(bp::test::distance(one.parameters, other.parameters), 2e-5);
    for (int rank = 0; rank < layout.ranks; ++rank) {
      const auto lines = read_trace(options.trace, rank);
      const auto first = read_trace(options.trace, 0);
      ASSERT_EQ(lines.size(), expected.size());
      for (std::size_t step = 0; step < lines.size(); ++step) {
        EXPECT_NEAR(lines[step].loss, expected[step].loss, 1e-6) << step;
        EXPECT_EQ(lines[step].parameters, first[step].parameters) << step;
      }
    }
  }
}

// docs/acceptance.md, Models: A model of each family trains to the same weights on any ranks.
TEST_F(Train, LayoutsTrainTheSameModelOfEachFamily) {
  RunSettings options = test::SmallData::options();
  options.steps = 4;
  for (const std::string& family : model_types()) {
    SCOPED_TRACE(family);
    family_ = family;
    options.batch = 24;
    const Result one = train_on(1, options, 0);
    options.batch = 8;
    const Result three = train_on(3, options, 0);
    EXPECT_LE(bp::test::distance(one.parameters, three.parameters), 2e-5);
  }
}

// With a trace every step reads all weights, so that no update can be deferred.
// docs/acceptance.md, Training: Words that a batch does not use are updated later, with the same
// bits.
TEST_F(Train, DeferredUpdatesOfWordsChangeNoBit) {
  RunSettings options = test::SmallData::options();
  options.steps = 60;
  options.eval_every = {every_steps(25)};
  for (const int ranks : {1, 2}) {
    options.trace = "";
    const Result deferring = train_on(ranks, options, 0.2);
    options.trace = path(concat("trace-", ranks));
    EXPECT_EQ(bp::test::bits(deferring.parameters),
              bp::test::bits(train_on(ranks, options, 0.2).parameters));
  }
}

// The samples that all ranks together used in the steps from `from` to before `to`.
std::multiset<std::int64_t> samples_of(const std::string& trace,
                                       int ranks,
                                       std::size_t from,
                                       std::size_t to) {
  std::multiset<std::int64_t> all;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto lines = read_trace(trace, rank);
    for (std::size_t step = from; step < to; ++step) {
      all.insert(lines.at(step).samples.begin(), lines.at(step).samples.end());
    }
  }
  return all;
}

// docs/acceptance.md, Training: Every row is used once an epoch on any number of ranks.
TEST_F(Train, UsesEveryRowOncePerEpochOnAnyNumberOfRanks) {
  std::multiset<std::int64_t> every_row;
  {
    const SampleStore store = SampleStore::open(store_path());
    for (std::int64_t row = 0; row < store.size(Split::train); ++row) {
      every_row.insert(store.load(Split::train, row).sample_id);
    }
  }
  ASSERT_EQ(every_row.size(), 120U);
  RunSettings options = test::SmallData::options();
  options.steps = 0;
  options.epochs = 3;
  options.batch = 7;  // the last step of an epoch is short: 120 = 3 * 35 + 15, for five ranks
  for (const int ranks : {1, 2, 3, 5}) {
    SCOPED_TRACE(concat(ranks, " ranks"));
    options.trace = path(concat("trace", ranks));
    const Result result = train_on(ranks, options, 0);
    const auto steps = static_cast<std::size_t>((120 + 7 * ranks - 1) / (7 * ranks));
    EXPECT_EQ(result.train.end.step, static_cast<std::int64_t>(3 * steps));
    EXPECT_EQ(result.train.epochs, 3.0);
    for (std::size_t epoch = 0; epoch < 3; ++epoch) {
      EXPECT_EQ(samples_of(options.trace, ranks, epoch * steps, (epoch + 1) * steps), every_row)
          << "epoch " << epoch;
    }
    // Each epoch must have another order.
    EXPECT_NE(samples_of(options.trace, ranks, 0, 1),
              samples_of(options.trace, ranks, steps, steps + 1));
  }
}

TEST_F(Train, LearnsAndRecordsItInMetrics) {
  RunSettings options = test::SmallData::options();
  options.steps = 60;
  options.lr = 1e-2;
  options.warmup = 0.1;
  options.precision = Precision::bf16;
  const Result result = train_on(2, options, 0.1);
  const Metrics metrics = read_metrics(path("metrics.jsonl"));
  ASSERT_GE(metrics.steps.size(), 2U);
  EXPECT_LT(metrics.steps.back().loss, 0.7 * metrics.steps.front().loss);
  EXPECT_EQ(metrics.steps.back().step, 60);
  // An epoch of 120 rows has 7 steps of 16 rows and one of 8, so 60 steps are 7 epochs and 4 steps.
  EXPECT_EQ(metrics.steps.back().samples, 7 * 120 + 4 * 16);
  EXPECT_GT(metrics.steps.back().tokens_per_s, metrics.steps.back().samples_per_s);
  EXPECT_GT(result.train.summary.seconds, 0.0);
}

// The distance from what a wire that does not round trains. The rounding of the sums of ranks,
// which is not fed back, stays.
// docs/acceptance.md, Precision: Error feedback makes a narrow wire round less, and resumes to the
// same bits.
TEST_F(Train, ErrorFeedbackMakesANarrowWireRoundLessOverManySteps) {
  RunSettings options = test::SmallData::options();
  options.optimizer = "sgd";  // adds up gradients, and so their errors
  options.lr = 0.1;
  options.steps = 160;
  options.eval_every = {every_steps(1000)};
  options.save_every = {every_steps(1000)};
  sparse_ = false;  // such gradients are not rounded
  const auto trained = [&](DataType wire, bool error_feedback) {
    options.wire = wire;
    options.error_feedback = error_feedback;
    return train_on(2, options, 0.1).parameters;
  };
  double without = 0;
  double with = 0;
  for (const std::uint64_t seed : {1U, 2U}) {
    options.seed = seed;
    const std::vector<at::Tensor> right = trained(DataType::f32, false);
    const auto distance_of = [&](const std::vector<at::Tensor>& parameters) {
      double squares = 0;
      for (std::size_t i = 0; i < right.size(); ++i) {
        squares += (parameters[i] - right[i]).square().sum().item<double>();
      }
      return std::sqrt(squares);
    };
    without += distance_of(trained(DataType::bf16, false));
    with += distance_of(trained(DataType::bf16, true));
  }
  EXPECT_GT(without, 0) << "the wire must round";
  EXPECT_LT(with, 0.9 * without);
}

std::uint64_t all_reduces(const Counters& counters) {
  std::uint64_t operations = 0;
  for (const Counters::Kind& kind : counters.kinds) {
    if (kind.operation == "all_reduce") operations += kind.operations;
  }
  return operations;
}

// docs/acceptance.md, Training: Each line of metrics holds the collectives since the line before.
TEST_F(Train, MetricsHoldTheCollectivesSinceThePreviousLine) {
  const Result result = train_on(2, test::SmallData::options(), 0);
  std::uint64_t in_lines = 0;
  for (const StepRecord& record : read_metrics(path("metrics.jsonl")).steps) {
    in_lines += all_reduces(record.comm);
    std::uint64_t bytes = 0;
    for (const Counters::Kind& kind : record.comm.kinds) {
      EXPECT_NE(kind.algorithm, "");
      EXPECT_GT(kind.operations, 0U);
      bytes += kind.bytes;
    }
    EXPECT_EQ(record.comm.bytes, bytes);
    EXPECT_GT(record.comm.bytes, 0U);
    EXPECT_GE(record.comm.seconds_busy, record.comm.seconds_waiting);
  }
  EXPECT_GE(in_lines, 20U);
  EXPECT_EQ(in_lines, all_reduces(result.comm));
}

// Returns the error with which `body` ends on both ranks.
std::string end_of_both(const std::function<void(Communicator&)>& body) {
  const auto errors = bp::test::try_agreeing_ranks(2, body);
  EXPECT_EQ(errors[0], errors[1]);
  return errors[0];
}

TEST_F(Train, AGradientThatIsNotFiniteEndsTheRunAndNamesTheStep) {
  RunSettings options = test::SmallData::options();
  options.lr = 1e30;
  options.clip = 0;
  const std::string error = end_of_both([&](Communicator& world) {
    const SampleStore store = SampleStore::open(store_path());
    Bert model(config(store, 0), make_classifier_head, Precision::fp32, 1);
    (void)train(world, options, job(store, options), model);
  });
  EXPECT_THAT(error,
              ::testing::MatchesRegex("the (loss|norm of the gradient) at step [0-9]+ is .*"));
}

// docs/features.md, Optimization: The place where a NaN begins | The first tensor that is not
// finite is named; `--detect-anomaly` examines each step.
// docs/features.md, Loop and checkpoints: A folder for the batch that failed | `RUN/bug/`, which
// `bert_train replay` computes again
TEST_F(Train, ALossThatIsNaNRecordsItsSamplesAndTensors) {
  RunSettings options = test::SmallData::options();
  options.run = path("run");
  const std::string error = end_of_both([&](Communicator& world) {
    const SampleStore store = SampleStore::open(store_path());
    Bert model(config(store, 0), make_classifier_head, Precision::fp32, 1);
    at::Tensor weight = model.parameters().back().second.detach();
    ASSERT_EQ(model.parameters().back().first, "classifier.bias");
    weight.fill_(std::numeric_limits<float>::quiet_NaN());
    (void)train(world, options, job(store, options), model);
  });
  EXPECT_EQ(error, concat("the loss at step 1 is nan; the first tensor that is not finite: the "
                          "weight classifier.bias; its samples are in ",
                          path("run/bug/step-1.json")));
  std::ifstream in(path("run/bug/step-1.json"));
  const auto json = nlohmann::json::parse(in);
  EXPECT_EQ(json["what"], "loss");
  EXPECT_EQ(json["value"], "nan");
  EXPECT_EQ(json["weights"][0]["name"], "classifier.bias");
  EXPECT_EQ(json["weights"][0]["nan"], 2);
  EXPECT_EQ(json["gradients"].size(), 5U);
  ASSERT_EQ(json["ranks"].size(), 2U);
  const SampleStore store = SampleStore::open(store_path());
  std::map<std::int64_t, Sample> samples;
  for (std::int64_t i = 0; i < store.size(Split::train); ++i) {
    const Sample sample = store.load(Split::train, i);
    samples[sample.sample_id] = sample;
  }
  std::set<std::int64_t> seen;
  for (const auto& rank : json["ranks"]) {
    const auto& batch = rank["batches"][0];
    EXPECT_EQ(batch["loss"], "nan");
    EXPECT_EQ(batch["activations"][0]["name"], "classifier");
    ASSERT_EQ(batch["sample_ids"].size(), 8U);
    for (std::size_t row = 0; row < 8; ++row) {
      const Sample& sample = samples.at(batch["sample_ids"][row]);
      EXPECT_EQ(batch["text_ids"][row], sample.text_id);
      EXPECT_EQ(batch["arrays"][0][row], label_of(sample));
      seen.insert(sample.sample_id);
    }
  }
  EXPECT_EQ(seen.size(), 16U);
}

TEST_F(Train, ASignalEndsTheRunAtTheStep) {
  RunSettings options = test::SmallData::options();
  options.steps = 1000;
  options.eval_every = {every_steps(3)};
  for (const int number : {SIGTERM, SIGUSR1, SIGUSR2}) {
    TrainResult result;
    bp::test::run_ranks(1, [&](Communicator& world) {
      const SampleStore store = SampleStore::open(store_path());
      Bert model(config(store, 0), make_classifier_head, Precision::fp32, 1);
      TrainJob signalled = job(store, options);
      signalled.evaluate = [number] {
        (void)std::raise(number);
        return DevScores{};
      };
      result = train(world, options, signalled, model);
    });
    EXPECT_TRUE(result.stopped);
    EXPECT_EQ(result.end.step, 4);
  }
}

// docs/features.md, Loop and checkpoints: A stop by file or signal | `bert_train stop`, Ctrl-C
TEST_F(Train, TheStopFileEndsTheRunOnAllRanks) {
  RunSettings options = test::SmallData::options();
  options.steps = 1000;
  options.eval_every = {every_steps(3)};
  std::atomic<std::int64_t> ends{0};
  bp::test::run_ranks(2, [&](Communicator& world) {
    const SampleStore store = SampleStore::open(store_path());
    Bert model(config(store, 0), make_classifier_head, Precision::fp32, 1);
    TrainJob stopping = job(store, options);
    if (world.rank() == 0) stopping.stop_file = path("stop");
    stopping.evaluate = [this] {
      std::ofstream(path("stop")).flush();
      return DevScores{};
    };
    const TrainResult result = train(world, options, stopping, model);
    EXPECT_TRUE(result.stopped);
    ends += result.end.step;
  });
  EXPECT_EQ(ends, 2 * 4);
}

}  // namespace
}  // namespace bp::trainer
