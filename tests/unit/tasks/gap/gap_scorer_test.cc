// Scores of GAP from the outputs of a model.
#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/text.h"
#include "tests/support/scratch.h"
#include "tests/support/task_input.h"
#include "tests/unit/data/input_error_matcher.h"
#include "trainer/batches/batch.h"
#include "trainer/model/families/family.h"
#include "trainer/prepare/prepare.h"
#include "trainer/store/sample_store.h"
#include "trainer/tasks/gap/gap_config.h"
#include "trainer/tasks/tasks.h"

namespace bp::trainer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class GapScoring : public testing::Test {
 protected:
  // Three rows: "he" is A, "she" is B, "he" is neither; or without answers.
  SampleStore store(bool answered) {
    std::string rows =
        "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\n";
    const auto row = [&](const char* id, const char* text, const char* pronoun, const char* a,
                         const char* b) {
      rows += concat(id, '\t', text, '\t', pronoun, "\t8\tann\t0\t", answered ? a : "",
                     "\tbob\t4\t", answered ? b : "", '\n');
    };
    row("x,1", "ann bob he", "he", "TRUE", "FALSE");
    row("x2", "ann bob she", "she", "FALSE", "TRUE");
    row("x3", "ann bob he", "he", "FALSE", "FALSE");
    PrepareOptions with;
    with.task = input_with("gap");
    with.source = scratch_.write("g.tsv", rows);
    with.scored = true;
    with.vocabulary =
        scratch_.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\nann\nbob\nhe\nshe\n");
    return SampleStore::open(prepare(with, [](const std::string&) {}).store);
  }
  // Returns a scorer of a model that takes every pronoun for A.
  static std::unique_ptr<Scorer> scored(const SampleStore& store) {
    auto scorer = make_task(*input_with("gap"))->make_scorer({}, {}, {&store, Split::test});
    for (std::int64_t i = 0; i < store.size(Split::test); ++i) {
      at::Tensor logits = at::zeros({1, 3});
      logits.data_ptr<float>()[1] = 1;
      scorer->add(make_batch({store.load(Split::test, i)}, store.schema(), 0), logits);
    }
    return scorer;
  }

  Scratch scratch_;
};

TEST_F(GapScoring, EqualsTheFormulas) {
  const SampleStore rows = store(true);
  const auto scorer = scored(rows);
  const EvaluationSummary summary = scorer->summary();
  EXPECT_NEAR(summary.at("accuracy"), 1.0 / 3, 1e-12);
  EXPECT_NEAR(summary.at("log_loss"), std::log(std::exp(1) + 2) - 1.0 / 3, 1e-6);
  EXPECT_EQ(summary.at("loss"), summary.at("log_loss"));
  EXPECT_NEAR(summary.at("f1"), 0.4, 1e-12);
  EXPECT_NEAR(summary.at("f1_masculine"), 2.0 / 3, 1e-12);
  EXPECT_EQ(summary.at("f1_feminine"), 0);
  EXPECT_TRUE(std::isnan(summary.at("bias")));
  for (const MainScore& metric : make_task(*input_with("gap"))->metrics()) {
    EXPECT_FALSE(std::isnan(summary.at(metric.key))) << metric.key;
  }
  EXPECT_THAT(scorer->lines("test", "").at(0), HasSubstr("accuracy 0.3333, 3 samples"));
  EXPECT_THAT(scorer->lines("test", "").at(1),
              HasSubstr("Masculine recall: 100.0 precision: 50.0"));
  EXPECT_THAT(sections_html(scorer->sections()), HasSubstr("<h2>Decisions, test split</h2>"));
}

TEST_F(GapScoring, ShowsTheRowsWithTheHighestLoss) {
  const SampleStore rows = store(true);
  const std::string page = sections_html(scored(rows)->sections());
  const std::size_t wrong = page.find(
      "<blockquote>ann bob she</blockquote><p>is <b>B</b>, predicted "
      "<b>A</b>; x2, probability of the true answer 0.2119, loss 1.55");
  const std::size_t right = page.find("<p>is <b>A</b>, predicted <b>A</b>; x,1, ");
  EXPECT_LT(wrong, right) << page;
  EXPECT_NE(right, std::string::npos) << page;
}

// docs/features.md, Evaluation and reports: Probabilities, and Kaggle's file | `predictions.csv`,
// `kaggle.csv`; `predict --out-format kaggle`
TEST_F(GapScoring, WritesKagglesFileAlsoWithoutAnswers) {
  const SampleStore rows = store(false);
  const auto scorer = scored(rows);
  EXPECT_TRUE(std::isnan(scorer->summary().at("log_loss")));
  EXPECT_THAT(scorer->lines("g.tsv", ""),
              ElementsAre("g.tsv: no answers to compare with, 3 samples; --out FILE writes the "
                          "predictions"));
  EXPECT_EQ(sections_html(scorer->sections()), "");
  const std::vector<ResultFile> files = scorer->files();
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(files[0].name, "kaggle.csv");
  EXPECT_THAT(files[0].content, HasSubstr("ID,A,B,NEITHER\n\"x,1\",0.576116"));
  std::vector<std::string> fields;
  scorer->set_fields(rows.load(Split::test, 1), std::span(scorer->kept()).subspan(3, 3), fields);
  EXPECT_THAT(fields, ElementsAre("x2", "", "A", "0.576117", "0.211942", "0.211942"));
}

TEST_F(GapScoring, AStoreMustBeMadeForTheHead) {
  const SampleStore rows = store(true);
  EncoderSpec config;
  const auto task = make_task(*input_with("gap", {"--gap-head", "segment"}));
  expect_input_error(65, "the data was prepared without token types of the mentions", "--rebuild",
                     [&] { task->configure(config, rows); });
  make_task(*input_with("gap", {"--gap-head", "concat"}))->configure(config, rows);
  EXPECT_EQ(gap_head_of(config), GapHeadKind::concat);
  EXPECT_EQ(config.token_types, 2);
}

TEST_F(GapScoring, TheHeadSegmentNeedsAFamilyWithTokenTypes) {
  EncoderSpec config = distilbert().usual;
  expect_input_error(
      2, "models of the family distilbert have no token types", "--gap-head concat", [&] {
        make_task(*input_with("gap", {"--gap-head", "segment"}))->configure(config, store(true));
      });
  make_task(*input_with("gap", {"--gap-head", "concat"}))->configure(config, store(true));
  EXPECT_EQ(config.head.at("architectures"), R"(["DistilBertModel"])");
}

TEST_F(GapScoring, AnotherHeadIsNewlyDrawn) {
  const auto task = make_task(*input_with("gap"));
  EncoderSpec stored;
  EncoderSpec wanted;
  wanted.head = gap_keys(GapHeadKind::concat);
  EXPECT_THAT(task->taken_weights(stored, wanted).replaced, ElementsAre("classifier.", "neither"));
  EXPECT_EQ(task->taken_weights(stored, wanted).reason, "");
  stored.head = gap_keys(GapHeadKind::mul);
  EXPECT_EQ(task->taken_weights(stored, wanted).reason, "the model's head is mul");
  stored.head = wanted.head;
  EXPECT_THAT(task->taken_weights(stored, wanted).replaced, ElementsAre());
  wanted.head = gap_keys(GapHeadKind::segment);
  EXPECT_THAT(task->taken_weights(stored, wanted).replaced,
              ElementsAre("classifier.", "neither", "bert.embeddings.token_type_embeddings."));
}

}  // namespace
}  // namespace bp::trainer
