// Evaluation is exact, and gives the same result for any number of ranks and threads.
#include "trainer/train/loop/evaluate.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>
#include <mutex>
#include <thread>

#include "base/input_error.h"
#include "tests/support/classify_data.h"
#include "tests/support/run_ranks.h"
#include "train_fixture.h"
#include "trainer/tasks/classify/class_config.h"
#include "trainer/tasks/classify/class_scorer.h"
#include "trainer/tasks/classify/classifier_head.h"
#include "trainer/tasks/label_config.h"
#include "trainer/tasks/tasks.h"
#include "trainer/train/forward_blocks.h"
#include "trainer/train/loop/precision_difference.h"

namespace bp::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Evaluate : public test::SmallData {
 protected:
  // Evaluates the first samples of the train split on `ranks` ranks, which must all get the same
  // logits, and returns these. The model is one in bf16.
  std::vector<float> logits(int ranks, std::int64_t samples = 120, bool as_trained = false) {
    std::mutex mutex;
    std::vector<std::vector<float>> results;
    bp::test::run_ranks(ranks, [&](Communicator& world) {
      SampleStore store = SampleStore::open(store_path());
      store.limit(Split::train, samples);
      EncoderSpec shape = config(store, 0.1);
      shape.initializer_range = 0.5;
      Bert model(shape, make_classifier_head, Precision::bf16, 1);
      model.evaluate_as_trained(as_trained);
      const std::vector<std::string> labels = class_config_of(shape).labels;
      ClassScorer scorer(
          {.labels = store.names(), .label_map = map_labels(store.names(), labels, "label")},
          {&store, Split::train});
      EXPECT_TRUE(evaluate(world, model, *classify(), store, Split::train, scorer));
      EXPECT_EQ(scorer.scored().scores().samples, samples);
      EXPECT_GT(scorer.scored().scores().loss, 0.0);
      const std::lock_guard lock(mutex);
      results.push_back(std::move(scorer.kept()));
    });
    for (const auto& result : results) EXPECT_EQ(result, results.front());
    return results.front();
  }
};

// docs/features.md, Splits and batches: Evaluation in blocks, exact on any number of ranks | always
TEST_F(Evaluate, IsTheSameForAnyNumberOfRanksAndThreads) {
  for (const bool as_trained : {false, true}) {
    at::set_num_threads(2);
    const std::vector<float> one = logits(1, 120, as_trained);
    EXPECT_EQ(one.size(), 240U);
    at::set_num_threads(1);
    EXPECT_EQ(logits(1, 120, as_trained), one);
    EXPECT_EQ(logits(3, 120, as_trained), one);
    EXPECT_EQ(logits(5, 120, as_trained), one);  // there are more ranks than blocks
  }
}

// A scorer that may wait before it takes a block, and counts the blocks that it takes.
class WaitingScorer : public ClassScorer {
 public:
  WaitingScorer(const Options& options, const StoredSplit& scored, std::function<void()> wait)
      : ClassScorer(options, scored), wait_(std::move(wait)) {}
  void keep(const Batch& block,
            const at::Tensor& outputs,
            std::vector<float>& kept) const override {
    wait_();
    ClassScorer::keep(block, outputs, kept);
    ++blocks_;
  }
  [[nodiscard]] int blocks() const { return blocks_; }

 private:
  std::function<void()> wait_;
  mutable int blocks_ = 0;
};

// docs/acceptance.md, Unequal machines: In an evaluation the ranks that are ready take what a slow
// one does not.
TEST_F(Evaluate, ASlowRankScoresFewerBlocks) {
  at::set_num_threads(1);
  const std::vector<float> one = logits(1);
  std::atomic<int> others = 0;  // blocks of the other ranks
  std::atomic<bool> begun = false;
  bp::test::run_ranks(3, [&](Communicator& world) {
    const SampleStore store = SampleStore::open(store_path());
    EncoderSpec shape = config(store, 0.1);
    shape.initializer_range = 0.5;
    const Bert model(shape, make_classifier_head, Precision::bf16, 1);
    const bool slow = world.rank() == 1;
    WaitingScorer scorer({.labels = store.names(), .label_map = {0, 1}}, {&store, Split::train},
                         [&] {
                           begun = begun || slow;
                           while (slow ? others < 3 : !begun) std::this_thread::yield();
                           if (!slow) ++others;
                         });
    EXPECT_TRUE(evaluate(world, model, *classify(), store, Split::train, scorer));
    if (slow) {
      EXPECT_EQ(scorer.blocks(), 1) << "of four";
    }
    EXPECT_EQ(scorer.kept(), one);
  });
}

TEST(ClassScorer, WritesTheMostProbableLabels) {
  ClassScorer scorer({.labels = {"a", "b", "c", "d"}, .label_map = {0, 1, 2, 3}, .top = 3});
  std::vector<std::string> names;
  for (const PredictionColumn& column : scorer.columns()) names.push_back(column.name);
  EXPECT_THAT(names, ElementsAre("label", "prediction", "top_1", "top_1_p", "top_2", "top_2_p",
                                 "top_3", "top_3_p"));
  Sample sample;
  sample.arrays = {{.integers = {1}}};
  const std::vector<float> logits = {0, std::log(2.0F), std::log(4.0F), 0};
  std::vector<std::string> fields;
  scorer.set_fields(sample, logits, fields);
  EXPECT_THAT(fields, ElementsAre("b", "c", "c", "0.500000", "b", "0.250000", "a", "0.125000"))
      << "of equally probable labels the first";
  ClassScorer more({.labels = {"a", "b"}, .label_map = {0, 1}, .top = 9});
  EXPECT_EQ(more.columns().size(), 6U);
}

TEST_F(Evaluate, IsInFp32UnlessItIsToldOtherwise) {
  const SampleStore store = SampleStore::open(store_path());
  EncoderSpec shape = config(store, 0.1);
  shape.initializer_range = 0.5;
  const std::vector<Batch> blocks = first_blocks(*classify(), store, Split::train, 2);
  ASSERT_EQ(blocks.size(), 2U);
  Bert model(shape, make_classifier_head, Precision::bf16, 1);
  const auto outputs = [&](const Bert& of) { return at::cat(forward_blocks(of, blocks)); };
  const at::Tensor exact = outputs(Bert(shape, make_classifier_head, Precision::fp32, 1));
  EXPECT_TRUE(at::equal(outputs(model), exact));
  model.evaluate_as_trained(true);
  const at::Tensor rounded = outputs(model);
  EXPECT_FALSE(at::equal(rounded, exact));
  const PrecisionDifference difference = difference_from_fp32(model, blocks);
  EXPECT_EQ(difference.samples, 64);
  EXPECT_EQ(difference.largest, (rounded - exact).abs().max().item<double>());
  EXPECT_LT(difference.largest, 0.2);
  EXPECT_EQ(difference.choices, 64);
  EXPECT_EQ(difference.changed,
            (rounded.argmax(-1) != exact.argmax(-1)).sum().item<std::int64_t>());
  EXPECT_TRUE(at::equal(outputs(model), rounded)) << "afterwards it evaluates as before";
}

TEST_F(Evaluate, TheTextOfADifferenceSaysWhatWasCompared) {
  EXPECT_EQ(
      text_of({.samples = 256, .largest = 0.012345, .choices = 256, .changed = 1}, Precision::bf16),
      "bf16 beside fp32, samples 1 to 256: outputs differ by at most 0.0123, and 1 "
      "of 256 have another largest one");
  EXPECT_EQ(text_of({.samples = 9, .largest = 0.5}, Precision::fp16),
            "fp16 beside fp32, samples 1 to 9: outputs differ by at most 0.5");
}

TEST_F(Evaluate, OfALimitedSplitIsThatOfItsFirstSamples) {
  const std::vector<float> all = logits(2);
  const std::vector<float> some = logits(2, 64);  // two whole blocks
  EXPECT_EQ(some, std::vector<float>(all.begin(), all.begin() + 128));
  SampleStore store = SampleStore::open(store_path());
  const std::vector<std::int32_t> lengths = store.lengths(Split::train);
  const std::vector<std::int64_t> labels = store.integers(Split::train, 0);
  store.limit(Split::train, 70);
  EXPECT_EQ(store.lengths(Split::train), std::vector(lengths.begin(), lengths.begin() + 70));
  EXPECT_EQ(store.integers(Split::train, 0), std::vector(labels.begin(), labels.begin() + 70));
  EXPECT_EQ(store.size(Split::dev), 15);
  store.limit(Split::train, 1000);
  EXPECT_EQ(store.size(Split::train), 120);
}

TEST_F(Evaluate, PredictionsHaveEverySampleOnceInOrder) {
  bp::test::run_ranks(1, [&](Communicator& world) {
    const SampleStore store = SampleStore::open(store_path());
    const Bert model(config(store, 0.1), make_classifier_head, Precision::fp32, 1);
    const auto scorer =
        make_task(*classify())->make_scorer(store.names(), model.config(), {&store, Split::test});
    EXPECT_TRUE(evaluate(world, model, *classify(), store, Split::test, *scorer));
    scorer->write_predictions(path("predictions.csv"));
    std::ifstream in(path("predictions.csv"));
    const std::string text((std::istreambuf_iterator<char>(in)), {});
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 16);
    EXPECT_TRUE(text.starts_with("sample_id,text_id,label,prediction,p_no,p_yes\n"));
    const auto& classes = dynamic_cast<ClassScorer&>(*scorer);
    const std::vector<ErrorRow> worst = classes.errors(classes.scored()).rows;
    ASSERT_EQ(worst.size(), 15U) << "all of the split, which has fewer than 20";
    EXPECT_THAT(worst[0].text, HasSubstr("good"));
    const auto loss = [](const ErrorRow& row) {
      return std::stod(row.facts.substr(row.facts.find("loss ") + 5));
    };
    EXPECT_GE(loss(worst[0]), loss(worst[14]));
  });
}

TEST_F(Evaluate, LabelsAreMatchedByName) {
  const SampleStore store = SampleStore::open(store_path());
  EXPECT_THAT(map_labels(store.names(), {"yes", "perhaps", "no"}, "label"), ElementsAre(2, 0));
  try {
    (void)map_labels(store.names(), {"yes", "perhaps"}, "label");
    ADD_FAILURE();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("label 'no', which the model lacks"));
    EXPECT_EQ(error.hint(), "the model's labels are yes, perhaps");
  }
}

}  // namespace
}  // namespace bp::trainer
