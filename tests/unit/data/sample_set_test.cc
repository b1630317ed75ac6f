// examples/reviews.csv must be a real task: counting words must not be enough to distinguish good
// from bad reviews.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "base/text.h"
#include "tests/support/classify_data.h"
#include "tests/support/places.h"
#include "tests/support/scratch.h"
#include "trainer/prepare/prepare.h"
#include "trainer/store/sample_store.h"

namespace bp::trainer {
namespace {

const std::string kReviews = kSourceDir + "/examples/reviews.csv";

class SampleSetTest : public testing::Test {
 protected:
  // Prepares with the default options, as the quickstart does.
  SampleStore prepare_reviews() {
    PrepareOptions options;
    options.source = kReviews;
    options.task = classify({"--text", "review"});
    options.store = scratch_.path("reviews.sqlite");
    return SampleStore::open(prepare(options, [](const std::string&) {}).store);
  }
  Scratch scratch_;
};

// A multinomial naive Bayes classifier with add-one smoothing, over the tokens that the trainer
// sees.
class NaiveBayes {
 public:
  explicit NaiveBayes(std::size_t tokens) : tokens_(tokens) {}

  void learn(const Sample& sample) {
    ++texts_[label_of(sample)];
    for (const std::int32_t id : sample.token_ids) {
      ++counts_[{label_of(sample), id}];
      ++totals_[label_of(sample)];
    }
  }

  [[nodiscard]] std::int64_t guess(const Sample& sample) const {
    std::int64_t best = -1;
    double highest = 0;
    for (const auto& [label, texts] : texts_) {
      double score = std::log(texts);
      for (const std::int32_t id : sample.token_ids) {
        const auto found = counts_.find({label, id});
        const double count = found == counts_.end() ? 0 : found->second;
        score += std::log((count + 1) / (totals_.at(label) + static_cast<double>(tokens_)));
      }
      if (best < 0 || score > highest) {
        best = label;
        highest = score;
      }
    }
    return best;
  }

 private:
  std::size_t tokens_;
  std::map<std::int64_t, double> texts_;
  std::map<std::int64_t, double> totals_;
  std::map<std::pair<std::int64_t, std::int32_t>, double> counts_;
};

TEST_F(SampleSetTest, CountingWordsIsNotEnough) {
  const SampleStore store = prepare_reviews();
  NaiveBayes model(store.vocabulary().size());
  for (std::int64_t i = 0; i < store.size(Split::train); ++i) {
    model.learn(store.load(Split::train, i));
  }
  std::int64_t right = 0;
  const std::int64_t size = store.size(Split::test);
  for (std::int64_t i = 0; i < size; ++i) {
    const Sample sample = store.load(Split::test, i);
    right += model.guess(sample) == label_of(sample) ? 1 : 0;
  }
  const double accuracy = static_cast<double>(right) / static_cast<double>(size);
  EXPECT_LT(accuracy, 0.80);
  RecordProperty("naive_bayes_accuracy", std::to_string(accuracy));
}

TEST_F(SampleSetTest, IsBalancedAndHasEachTextOnce) {
  const SampleStore store = prepare_reviews();
  EXPECT_THAT(store.names(), testing::ElementsAre("bad", "good"));
  std::map<std::int64_t, int> classes;
  std::set<std::string> texts;
  std::int64_t samples = 0;
  for (const Split split : {Split::train, Split::dev, Split::test}) {
    samples += store.size(split);
    for (std::int64_t i = 0; i < store.size(split); ++i) {
      const Sample sample = store.load(split, i);
      ++classes[label_of(sample)];
      texts.insert(store.text(sample.text_id, split));
    }
  }
  EXPECT_EQ(samples, 4000);
  EXPECT_EQ(texts.size(), 4000U);
  EXPECT_LT(std::max(classes[0], classes[1]), 0.55 * 4000);
}

TEST_F(SampleSetTest, HasQuotesCommasAndLineBreaksInItsFields) {
  const std::string file = read_file(kReviews);
  EXPECT_THAT(file, testing::HasSubstr("\"\""));
  EXPECT_GT(std::count(file.begin(), file.end(), '\n'), 4001);
}

TEST_F(SampleSetTest, TheGeneratorMakesItByteForByte) {
  const std::string made = scratch_.path("made.csv");
  const std::string command = concat("python3 ", kSourceDir, "/examples/make_reviews.py >", made);
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_TRUE(read_file(made) == read_file(kReviews));
}

}  // namespace
}  // namespace bp::trainer
