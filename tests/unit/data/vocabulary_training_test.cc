#include "trainer/text/vocabulary_training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace bp::trainer {
namespace {

using testing::ElementsAre;

std::vector<std::string> train(const std::vector<std::string>& texts,
                               int size,
                               bool lower_case = true) {
  VocabularyTrainer trainer(lower_case);
  for (const std::string& text : texts) {
    trainer.add(text);
  }
  return trainer.train(size).tokens;
}

std::vector<std::string> learned(const std::vector<std::string>& texts, int size) {
  const std::vector<std::string> tokens = train(texts, size);
  EXPECT_THAT(std::vector<std::string>(tokens.begin(), tokens.begin() + 5),
              ElementsAre("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"));
  return {tokens.begin() + 5, tokens.end()};
}

TEST(VocabularyTraining, CharactersThenContinuationsThenMergesByFrequency) {
  // The pair (a, ##b) occurs 5 times, then (ab, ##c) 3 times and (x, ##y) twice. (p, ##q) occurs
  // once and is never merged.
  EXPECT_THAT(learned({"abc abc abc ab ab xy xy pq"}, 100),
              ElementsAre("a", "b", "c", "p", "q", "x", "y", "##b", "##c", "##q", "##y", "ab",
                          "abc", "xy"));
}

TEST(VocabularyTraining, StopsAtTheSizeButKeepsEveryCharacter) {
  EXPECT_THAT(learned({"abc abc"}, 11), ElementsAre("a", "b", "c", "##b", "##c", "ab"));
  EXPECT_THAT(learned({"abc abc"}, 6), ElementsAre("a", "b", "c", "##b", "##c"));
}

TEST(VocabularyTraining, BetweenEqualPairsTheSmallerIdsComeFirst) {
  EXPECT_THAT(learned({"xy xy ab ab"}, 12), ElementsAre("a", "b", "x", "y", "##b", "##y", "ab"));
}

TEST(VocabularyTraining, MergesOverlappingPairsFromTheLeft) {
  // The first merge turns a ##a ##a ##a ##a into a ##aa ##aa. Its two pairs are equally frequent,
  // and the one with a comes first.
  EXPECT_THAT(learned({"aaaaa aaaaa"}, 100), ElementsAre("a", "##a", "##aa", "aaa", "aaaaa"));
}

TEST(VocabularyTraining, SeesTextAsTheTokenizerDoes) {
  EXPECT_THAT(learned({"Caf\xC3\xA9! caf\xC3\xA9"}, 13),
              ElementsAre("!", "a", "c", "e", "f", "##a", "##f", "##e"));
  EXPECT_THAT(train({"A A"}, 100, false), testing::Contains("A"));
}

TEST(VocabularyTraining, DoesNotDependOnTheOrderOfTheTexts) {
  std::vector<std::string> texts;
  for (int i = 0; i < 300; ++i) {
    texts.push_back("w" + std::to_string(i * i) + " v" + std::to_string(i * 7 % 50));
  }
  const std::vector<std::string> tokens = train(texts, 200);
  EXPECT_EQ(tokens.size(), 200U);
  std::reverse(texts.begin(), texts.end());
  EXPECT_EQ(train(texts, 200), tokens);
}

TEST(VocabularyTraining, ItsVocabularyCanBeRead) {
  const Vocabulary vocabulary{train({"banana bandana banana"}, 100)};
  Tokenizer tokenizer(vocabulary);
  std::vector<std::int32_t> ids;
  tokenizer.encode("banana naan", ids);
  ASSERT_GE(ids.size(), 2U);
  EXPECT_EQ(vocabulary.tokens[static_cast<std::size_t>(ids[0])], "banana");
  EXPECT_EQ(std::count(ids.begin(), ids.end(), tokenizer.form().unknown), 0);
}

}  // namespace
}  // namespace bp::trainer
