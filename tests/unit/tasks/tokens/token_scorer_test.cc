// Scores of tagged words: entities of whole sentences, whatever samples and blocks they are in.
#include <ATen/core/Tensor.h>
#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tests/support/scratch.h"
#include "tests/support/task_input.h"
#include "trainer/batches/batch.h"
#include "trainer/prepare/prepare.h"
#include "trainer/store/sample_store.h"
#include "trainer/tasks/label_config.h"
#include "trainer/tasks/tasks.h"

namespace bp::trainer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The model's tags, in another order than the store's.
const std::vector<std::string> kTags = {"B-X", "O", "I-X"};

class TokenScores : public testing::Test {
 protected:
  // Windows of two words, and a test split with these lines.
  SampleStore store(const std::string& test) {
    PrepareOptions with;
    with.task = input_with("tokens");
    with.source = scratch_.write("train.conll", "a B-X\nb I-X\n\nc O\n");
    with.test_source = scratch_.write("test.conll", test);
    with.max_length = 4;
    with.vocabulary = scratch_.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\nc\n");
    return SampleStore::open(prepare(with, [](const std::string&) {}).store);
  }
  std::unique_ptr<Scorer> scorer(const SampleStore& of) {
    config_.head = label_keys({.labels = kTags}, config_, "ForTokenClassification");
    return make_task(*input_with("tokens"))->make_scorer(of.names(), config_, {&of, Split::test});
  }
  // Adds all samples of the split, `at_once` in a block. The model predicts B-X for the word a,
  // I-X for b and O for c.
  static void add_all(const SampleStore& from, Scorer& to, std::int64_t at_once) {
    const std::int64_t size = from.size(Split::test);
    for (std::int64_t first = 0; first < size; first += at_once) {
      std::vector<Sample> samples;
      for (std::int64_t i = first; i < std::min(size, first + at_once); ++i) {
        samples.push_back(from.load(Split::test, i));
      }
      std::vector<std::int32_t> tokens;
      for (const Sample& sample : samples) {
        tokens.insert(tokens.end(), sample.token_ids.begin(), sample.token_ids.end());
      }
      at::Tensor logits = at::full({static_cast<std::int64_t>(tokens.size()), 3}, 0.0);
      for (std::size_t i = 0; i < tokens.size(); ++i) {
        const int tag = tokens[i] == 4 ? 0 : tokens[i] == 5 ? 2 : 1;
        logits.data_ptr<float>()[i * 3 + static_cast<std::size_t>(tag)] = 2;
      }
      to.add(make_batch(samples, from.schema(), from.pad_id()), logits);
    }
  }

  Scratch scratch_;
  EncoderSpec config_;
};

constexpr const char* kThree = "c O\na B-X\nb I-X\nb I-X\n\na B-X\nc I-X\n\nc O\n";

// docs/acceptance.md, Tasks: An entity may be in several samples.
TEST_F(TokenScores, AnEntityMayBeInSeveralSamples) {
  const SampleStore of = store(kThree);
  ASSERT_EQ(of.size(Split::test), 4);
  for (const std::int64_t at_once : {1, 2, 4}) {
    const auto scored = scorer(of);
    add_all(of, *scored, at_once);
    const double right = std::log(2 + std::exp(2)) - 2;
    const double wrong = right + 2;
    const EvaluationSummary summary = scored->summary();
    EXPECT_EQ(summary.at("f1"), 0.5);
    EXPECT_EQ(summary.at("precision"), 0.5);
    EXPECT_EQ(summary.at("recall"), 0.5);
    EXPECT_EQ(summary.at("accuracy"), 6.0 / 7);
    EXPECT_NEAR(summary.at("loss"), (6 * right + wrong) / 7, 1e-12);
    for (const MainScore& metric : make_task(*input_with("tokens"))->metrics()) {
      EXPECT_FALSE(std::isnan(summary.at(metric.key))) << metric.key;
    }
  }
}

TEST_F(TokenScores, ShowsTheScoresOfEachType) {
  const SampleStore of = store(kThree);
  const auto scored = scorer(of);
  add_all(of, *scored, 3);
  const std::vector<std::string> lines = scored->lines("test", "");
  EXPECT_THAT(lines.at(0), HasSubstr("test: F1 0.5000, precision 0.5000, recall 0.5000 of "
                                     "entities, accuracy 0.8571 of words, loss "));
  EXPECT_THAT(lines.at(1), HasSubstr("X     0.5000    0.5000    0.5000         2\n"));
  EXPECT_THAT(sections_html(scored->sections()), HasSubstr("<h2>Entities, test split</h2>"));
  const std::vector<ResultFile> files = scored->files();
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(files[0].name, "entities.csv");
  EXPECT_THAT(files[0].content,
              HasSubstr("type,precision,recall,f1,support\nX,0.500000,0.500000,0.500000,2\n"));
}

TEST_F(TokenScores, ShowsTheSentencesWithTheMostWrongWords) {
  const SampleStore of = store("c O\n\na B-X\nc I-X\n\nb O\na O\nc O\nb B-X\n");
  const auto scored = scorer(of);
  add_all(of, *scored, 2);
  const std::string page = sections_html(scored->sections());
  const std::size_t first = page.find(
      "<blockquote>b a c b</blockquote><p>is <b>b O, a O, b B-X</b>, "
      "predicted <b>b I-X, a B-X, b I-X</b>; 3 of 4 words wrong. ");
  const std::size_t second = page.find(
      "<blockquote>a c</blockquote><p>is <b>c I-X</b>, predicted "
      "<b>c O</b>; 1 of 2 words wrong. ");
  EXPECT_LT(first, second) << page;
  EXPECT_NE(second, std::string::npos) << page;
  EXPECT_EQ(page.find("<blockquote>c</blockquote>"), std::string::npos) << "it is right";
}

TEST_F(TokenScores, PredictsEachWordOfASample) {
  const SampleStore of = store("c O\na B-X\nb\tI-X\n\nb I-X\n");
  const auto scored = scorer(of);
  add_all(of, *scored, 3);
  const Sample first = of.load(Split::test, 0);
  ASSERT_EQ(scored->kept_of(first), 2U);
  std::vector<std::string> fields;
  scored->set_fields(first, std::span(scored->kept()).first(2), fields);
  EXPECT_THAT(fields, ElementsAre("O B-X", "O B-X"));
}

TEST_F(TokenScores, SentencesWithoutTagsHaveNoScore) {
  const SampleStore of = store("a\nb\n");
  const auto scored = scorer(of);
  add_all(of, *scored, 4);
  for (const auto& [key, value] : scored->summary().scores) EXPECT_TRUE(std::isnan(value)) << key;
  EXPECT_THAT(scored->lines("test", "p.csv"),
              ElementsAre("test: no tags to compare with, 1 samples; predictions in p.csv"));
  EXPECT_EQ(sections_html(scored->sections()), "");
  EXPECT_THAT(scored->files(), IsEmpty());
  std::vector<std::string> fields;
  scored->set_fields(of.load(Split::test, 0), scored->kept(), fields);
  EXPECT_THAT(fields, ElementsAre("", "B-X I-X"));
}

}  // namespace
}  // namespace bp::trainer
