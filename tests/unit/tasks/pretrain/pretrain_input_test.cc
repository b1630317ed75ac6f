// What the task "pretrain" makes of files, and the masks of its batches.
#include "trainer/tasks/pretrain/pretrain_input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/scratch.h"
#include "tests/unit/data/input_error_matcher.h"
#include "trainer/prepare/prepare.h"
#include "trainer/tasks/inputs.h"
#include "trainer/tasks/pretrain/passage_reader.h"

namespace bp::trainer {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::shared_ptr<TaskInput> pretrain(const std::vector<std::string>& arguments = {}) {
  std::shared_ptr<TaskInput> input = make_pretrain_input();
  OptionSet options("test", "", "");
  input->add_options(options);
  input->add_training_options(options);
  (void)options.parse(arguments);
  return input;
}

struct Row {
  std::string text;
  std::string place;
  bool operator==(const Row&) const = default;
};
void PrintTo(const Row& row, std::ostream* out) { *out << row.text << " at " << row.place; }

class PretrainInput : public testing::Test {
 protected:
  std::vector<Row> rows(const std::string& text, std::size_t passage_bytes) {
    const std::string file = scratch_.write("a.txt", text);
    PassageReader reader(file, "", passage_bytes);
    std::vector<Row> rows;
    while (reader.next()) {
      rows.push_back(
          {std::string(reader.fields().front()), reader.place().substr(scratch_.path("").size())});
      EXPECT_EQ(reader.number(), static_cast<std::int64_t>(rows.size()));
    }
    EXPECT_FALSE(reader.next());
    return rows;
  }
  Scratch scratch_;
};

TEST_F(PretrainInput, APassageIsLinesOfOneDocument) {
  EXPECT_THAT(rows("\n one\r\ntwo \n \n\nthree\nfour\nfive\nsix", 9),
              ElementsAre(Row{"one two", "a.txt, line 2"}, Row{"three four", "a.txt, line 6"},
                          Row{"five six", "a.txt, line 8"}));
  EXPECT_THAT(rows("one\ntwo\n\nthree\n", 0),
              ElementsAre(Row{"one", "a.txt, line 1"}, Row{"two", "a.txt, line 2"},
                          Row{"three", "a.txt, line 4"}));
  EXPECT_THAT(rows(" \n\n", 9), IsEmpty());
}

TEST_F(PretrainInput, SamplesAreTheWindowsOfATextWithoutArrays) {
  PrepareOptions options;
  options.task = pretrain({"--lines"});
  options.source = scratch_.write("a.txt", "a b a\n\nb\n");
  options.dev_source = scratch_.write("d.txt", "a\n");
  options.vocabulary = scratch_.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n");
  options.max_length = 4;
  const SampleStore store = SampleStore::open(prepare(options, [](const std::string&) {}).store);
  EXPECT_EQ(store.task(), "pretrain");
  ASSERT_EQ(store.size(Split::train), 3);
  EXPECT_THAT(store.load(Split::train, 0).token_ids, ElementsAre(2, 5, 6, 3));
  EXPECT_THAT(store.load(Split::train, 1).token_ids, ElementsAre(2, 5, 3));
  EXPECT_THAT(store.load(Split::train, 2).token_ids, ElementsAre(2, 6, 3));
  EXPECT_THAT(store.load(Split::train, 2).arrays, IsEmpty());
  EXPECT_EQ(store.size(Split::dev), 1);
  EXPECT_NO_THROW(store.verify());
}

// 100 words, so that two masks of a sample of 40 tokens are practically never equal.
std::vector<std::string> words() {
  std::vector<std::string> tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  for (int word = 0; word < 100; ++word) tokens.push_back("w" + std::to_string(word));
  return tokens;
}
Sample sample_of(std::int64_t id, int words) {
  Sample sample;
  sample.sample_id = id;
  sample.token_ids = {2};
  for (int word = 0; word < words; ++word) sample.token_ids.push_back(5 + word);
  sample.token_ids.push_back(3);
  return sample;
}

Batch masked(const std::vector<Sample>& samples,
             const BatchDraw& draw,
             const std::vector<std::string>& options = {}) {
  Batch batch = make_batch(samples, {}, 0);
  pretrain(options)->completion(words(), "")(batch, draw);
  return batch;
}

TEST_F(PretrainInput, CompletionHidesTokensAndSaysWhatTheyWere) {
  const std::vector<Sample> samples = {sample_of(1, 38), sample_of(2, 18), sample_of(3, 0)};
  const Batch plain = make_batch(samples, {}, 0);
  const Batch batch = masked(samples, {7, 2});
  ASSERT_EQ(batch.arrays.size(), kMaskedArrays);
  const BatchArray& positions = masked_positions(batch);
  const BatchArray& ids = masked_ids(batch);
  EXPECT_THAT(positions.sizes, ElementsAre(6, 3, 0)) << "15 % of 40, 20 and 2 tokens";
  EXPECT_EQ(ids.sizes, positions.sizes);
  ASSERT_EQ(positions.width, 6);
  Batch restored = batch;
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::int32_t i = 0; i < positions.sizes[row]; ++i) {
      const std::size_t at = row * 6 + static_cast<std::size_t>(i);
      restored.token_ids[row * 40 + static_cast<std::size_t>(positions.integers[at])] =
          ids.integers[at];
    }
  }
  EXPECT_NE(batch.token_ids, plain.token_ids);
  EXPECT_EQ(restored.token_ids, plain.token_ids);
}

TEST_F(PretrainInput, AMaskDependsOnTheSampleTheSeedAndTheEpochAlone) {
  const auto mask_of = [](const Batch& batch, std::size_t row) {
    const auto begin = batch.token_ids.begin() + static_cast<std::ptrdiff_t>(row) * batch.length;
    return std::vector(begin, begin + batch.lengths[row]);
  };
  const Batch both = masked({sample_of(8, 50), sample_of(9, 38)}, {7, 2});
  const Batch alone = masked({sample_of(9, 38)}, {7, 2});
  EXPECT_EQ(mask_of(both, 1), mask_of(alone, 0));
  EXPECT_NE(mask_of(masked({sample_of(10, 38)}, {7, 2}), 0), mask_of(alone, 0));
  EXPECT_NE(mask_of(masked({sample_of(9, 38)}, {8, 2}), 0), mask_of(alone, 0));
  EXPECT_NE(mask_of(masked({sample_of(9, 38)}, {7, 3}), 0), mask_of(alone, 0));
}

TEST_F(PretrainInput, StaticMasksAreTheSameInAllEpochs) {
  const std::vector<Sample> samples = {sample_of(9, 38)};
  EXPECT_EQ(masked(samples, {7, 2}, {"--static-masks"}).token_ids,
            masked(samples, {7, 3}, {"--static-masks"}).token_ids);
  EXPECT_THAT(masked_ids(masked(samples, {}, {"--mask-share", "0.5"})).sizes, ElementsAre(20));
}

TEST_F(PretrainInput, AVocabularyNeedsAMask) {
  expect_input_error(65, "the vocabulary has no [MASK]",
                     "pre-training hides tokens behind it: add the line [MASK] to the vocabulary",
                     [] {
                       (void)pretrain()->completion({"[PAD]", "[UNK]", "[CLS]", "[SEP]"}, "");
                     });
}

}  // namespace
}  // namespace bp::trainer
