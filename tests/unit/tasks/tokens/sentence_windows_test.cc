// Samples of sentences of tagged words.
#include "trainer/tasks/tokens/sentence_windows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/support/places.h"
#include "tests/support/refusal.h"

namespace bp::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::int64_t kNone = kIgnoredTarget;

// 0 to 3 are the special tokens.
Tokenizer small_tokenizer() {
  return Tokenizer(Vocabulary::parse(
      "[PAD]\n[UNK]\n[CLS]\n[SEP]\njo\n##han\n##son\nsaw\nthe\n.\nx\n##x\n", "vocab.txt"));
}

const std::vector<std::string> kWords = {"Johanson", "saw", "the", "xx", "."};
const std::vector<std::int64_t> kTags = {1, 0, 0, 2, 0};

TEST(SentenceWindows, TheFirstPieceHasTheTag) {
  Tokenizer tokenizer = small_tokenizer();
  const auto windows = make_sentence_windows(kWords, kTags, 512, tokenizer);
  ASSERT_THAT(windows, SizeIs(1));
  EXPECT_THAT(windows[0].ids, ElementsAre(2, 4, 5, 6, 7, 8, 10, 11, 9, 3));
  EXPECT_THAT(windows[0].targets, ElementsAre(kNone, 1, kNone, kNone, 0, 0, 2, kNone, 0, kNone));
  EXPECT_THAT(windows[0].positions, ElementsAre(1, 4, 5, 6, 8));
  EXPECT_EQ(windows[0].first_word, 0);
}

// A byte-level vocabulary may lack bytes, and have no token for what it lacks.
TEST(SentenceWindows, AWordWithoutPiecesOrUnknownTokenIsPadding) {
  Tokenizer tokenizer(Vocabulary::parse(R"({
      "added_tokens": [], "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
      "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]},
      "model": {"type": "BPE", "vocab": {"[PAD]": 0, "[CLS]": 1, "[SEP]": 2, "a": 3},
                "merges": []}})",
                                        "bytes.json"));
  const auto windows = make_sentence_windows({"a", "x", "a"}, {}, 512, tokenizer);
  ASSERT_THAT(windows, SizeIs(1));
  EXPECT_THAT(windows[0].ids, ElementsAre(1, 3, 0, 3, 2));
}

TEST(SentenceWindows, WordsMayHaveNoTag) {
  Tokenizer tokenizer = small_tokenizer();
  const auto untagged = make_sentence_windows(kWords, {}, 512, tokenizer);
  EXPECT_THAT(untagged[0].targets, ::testing::Each(kNone));
  EXPECT_THAT(untagged[0].positions, ElementsAre(1, 4, 5, 6, 8));
  const std::vector<std::int64_t> some = {-1, 3};
  const auto partly = make_sentence_windows({"saw", "the"}, some, 512, tokenizer);
  EXPECT_THAT(partly[0].targets, ElementsAre(kNone, kNone, 3, kNone));
}

// A zero-width space alone, and a word outside the vocabulary.
TEST(SentenceWindows, EveryWordHasAPiece) {
  Tokenizer tokenizer = small_tokenizer();
  const std::vector<std::int64_t> tags = {0, 1, 2};
  const auto windows = make_sentence_windows({"saw", "\xE2\x80\x8B", "unseen"}, tags, 9, tokenizer);
  EXPECT_THAT(windows[0].ids, ElementsAre(2, 7, 1, 1, 3));
  EXPECT_THAT(windows[0].targets, ElementsAre(kNone, 0, 1, 2, kNone));
}

TEST(SentenceWindows, EndBetweenWords) {
  Tokenizer tokenizer = small_tokenizer();
  const auto windows = make_sentence_windows(kWords, kTags, 6, tokenizer);
  ASSERT_THAT(windows, SizeIs(2));
  EXPECT_THAT(windows[0].ids, ElementsAre(2, 4, 5, 6, 7, 3));
  EXPECT_THAT(windows[0].targets, ElementsAre(kNone, 1, kNone, kNone, 0, kNone));
  EXPECT_THAT(windows[1].ids, ElementsAre(2, 8, 10, 11, 9, 3));
  EXPECT_THAT(windows[1].targets, ElementsAre(kNone, 0, 2, kNone, 0, kNone));
  EXPECT_THAT(windows[1].positions, ElementsAre(1, 2, 4));
  EXPECT_EQ(windows[1].first_word, 2);
}

TEST(SentenceWindows, AWordLongerThanAWindowIsCut) {
  Tokenizer tokenizer = small_tokenizer();
  const std::vector<std::int64_t> tags = {0, 1, 2};
  const auto windows = make_sentence_windows({"saw", "Johanson", "the"}, tags, 4, tokenizer);
  ASSERT_THAT(windows, SizeIs(3));
  EXPECT_THAT(windows[0].ids, ElementsAre(2, 7, 3));
  EXPECT_THAT(windows[1].ids, ElementsAre(2, 4, 5, 3));
  EXPECT_THAT(windows[1].targets, ElementsAre(kNone, 1, kNone, kNone));
  EXPECT_THAT(windows[2].ids, ElementsAre(2, 6, 8, 3));
  EXPECT_THAT(windows[2].targets, ElementsAre(kNone, kNone, 2, kNone));
  EXPECT_THAT(windows[2].positions, ElementsAre(2));
  EXPECT_EQ(windows[2].first_word, 2);
}

// tests/golden/sentences/make.py makes the file.
// docs/acceptance.md, Tasks: Pieces and targets of tagged words are those of transformers' recipe.
// docs/features.md, Input: Named entities | `--task tokens`
TEST(SentenceWindows, EqualTheRecipeOfTransformers) {
  const std::string folder = kSourceDir + "/tests/golden/";
  const Vocabulary vocabulary = Vocabulary::read(folder + "tokenizer_vocab.txt");
  Tokenizer uncased(vocabulary, true);
  Tokenizer cased(vocabulary, false);
  std::ifstream golden(folder + "sentences/golden.jsonl");
  int sentences = 0;
  for (std::string line; std::getline(golden, line); ++sentences) {
    const auto expected = nlohmann::json::parse(line);
    const auto words = expected["words"].get<std::vector<std::string>>();
    std::vector<std::int64_t> tags(words.size());
    std::iota(tags.begin(), tags.end(), 0);
    const auto windows =
        make_sentence_windows(words, tags, 100'000, expected["case"] == "u" ? uncased : cased);
    if (words.empty()) {
      EXPECT_THAT(windows, IsEmpty());
      continue;
    }
    ASSERT_THAT(windows, SizeIs(1));
    EXPECT_EQ(windows[0].ids, expected["ids"].get<std::vector<std::int32_t>>()) << line;
    EXPECT_EQ(windows[0].targets, expected["targets"].get<std::vector<std::int64_t>>()) << line;
  }
  EXPECT_EQ(sentences, 300);
}

// For random sentences: no piece is lost, and a window ends only where the next word does not fit.
TEST(SentenceWindows, HoldAllPiecesInOrder) {
  Tokenizer tokenizer = small_tokenizer();
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::string> words(random() % 12);
    std::vector<std::int64_t> tags;
    std::vector<std::int32_t> pieces;
    std::vector<std::int64_t> targets;
    for (std::string& word : words) {
      word = std::string(random() % 6 + 1, 'x');
      tags.push_back(static_cast<std::int64_t>(random() % 4));
      tokenizer.encode(word, pieces);
      targets.push_back(tags.back());
      targets.resize(pieces.size(), kNone);
    }
    const std::size_t max_length = random() % 10 + 3;
    std::vector<std::int32_t> all_pieces;
    std::vector<std::int64_t> all_targets;
    std::int64_t next_word = 0;
    for (const SentenceWindow& w : make_sentence_windows(words, tags, max_length, tokenizer)) {
      EXPECT_LE(w.ids.size(), max_length);
      EXPECT_EQ(w.ids.size(), w.targets.size());
      EXPECT_EQ(w.first_word, next_word);
      for (const std::int64_t at : w.positions) {
        EXPECT_EQ(w.targets.at(static_cast<std::size_t>(at)),
                  tags.at(static_cast<std::size_t>(next_word++)));
      }
      all_pieces.insert(all_pieces.end(), w.ids.begin() + 1, w.ids.end() - 1);
      all_targets.insert(all_targets.end(), w.targets.begin() + 1, w.targets.end() - 1);
    }
    EXPECT_EQ(all_pieces, pieces);
    EXPECT_EQ(all_targets, targets);
    EXPECT_EQ(next_word, static_cast<std::int64_t>(words.size()));
  }
}

TEST(SentenceWindows, RefusesWhatMakesNoSense) {
  Tokenizer tokenizer = small_tokenizer();
  EXPECT_THAT(make_sentence_windows({}, {}, 3, tokenizer), IsEmpty());
  EXPECT_EQ(bp::test::refusal_of(
                [&] { return make_sentence_windows(kWords, kTags, 2, tokenizer).size(); }),
            "a window of 2 tokens has no room for a word");
  EXPECT_EQ(bp::test::refusal_of([&] {
              return make_sentence_windows({"saw", "the"}, kTags, 9, tokenizer).size();
            }),
            "5 tags for 2 words");
}

}  // namespace
}  // namespace bp::trainer
