#include "trainer/text/vocabulary_training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trainer/text/roberta_files.h"

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

Vocabulary train_pairs(const std::vector<std::string>& texts, int size) {
  VocabularyTrainer trainer(true, VocabularyKind::byte_pairs);
  for (const std::string& text : texts) trainer.add(text);
  return trainer.train(size);
}

std::vector<std::string> learned_pairs(const std::vector<std::string>& texts, int size) {
  constexpr std::size_t kFirst = 5 + 256;
  const std::vector<std::string> tokens = train_pairs(texts, size).tokens;
  return {tokens.begin() + kFirst, tokens.end()};
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

// The tokens that tokenizers 0.23.3 learns follow the special tokens and the bytes:
//
//   t = Tokenizer(models.BPE())
//   t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
//   t.train_from_iterator(texts, trainers.BpeTrainer(
//       vocab_size=size, min_frequency=2, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
//       special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"]))
//
// docs/features.md, Input: A vocabulary trained on the texts, WordPiece or byte pairs |
// `--vocab-kind`, `--vocab-size`
TEST(VocabularyTraining, BytePairsAreTheWheels) {
  EXPECT_THAT(learned_pairs({"abc abc abc ab ab xy xy pq"}, 300),
              ElementsAre("ab", "\u0120ab", "xy", "\u0120xy", "\u0120abc"));
  EXPECT_THAT(learned_pairs({"abc abc abc ab ab xy xy pq"}, 263), ElementsAre("ab", "\u0120ab"));
  EXPECT_THAT(
      learned_pairs({"aaaaa aaaaa", "It's it's  two\n\n", "caf\u00e9 caf\u00e9 \u4f60\u4f60"}, 300),
      ElementsAre("aa", "'s", "af", "caf", "\u00bd\u0142", "\u00c3\u00a9", "\u00e4\u00bd\u0142",
                  "aaa", "aaaaa", "caf\u00c3\u00a9"));
}

// The first of its 256 characters is "!", and the text of its tokenizer.json has all merges, even
// if a merge makes a token that another one has made.
TEST(VocabularyTraining, BytePairsAreRobertasTokenizer) {
  const Vocabulary vocabulary = train_pairs({"Aa banana bandana banana\xFF"}, 300);
  EXPECT_EQ(vocabulary.tokens.at(5), "!");
  Tokenizer tokenizer(vocabulary);
  EXPECT_EQ(tokenizer.form(), (SampleForm{.pad = 1,
                                          .unknown = 3,
                                          .cls = 0,
                                          .sep = 2,
                                          .mask = 4,
                                          .separators = 2,
                                          .second_type = 0}));
  std::vector<std::int32_t> ids;
  tokenizer.encode(" banana <mask>", ids);
  ASSERT_EQ(ids.size(), 2U);
  EXPECT_EQ(vocabulary.tokens.at(static_cast<std::size_t>(ids[0])), "\u0120banana");
  EXPECT_EQ(ids[1], 4);
}

TEST(VocabularyTraining, BytePairsAreTheSameInTheirOlderFiles) {
  const Vocabulary vocabulary = train_pairs({"## ## #### a## a##", "banana banana"}, 300);
  const auto files = roberta_files(vocabulary.json());
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0].first, "vocab.json");
  EXPECT_EQ(files[1].first, "merges.txt");
  EXPECT_THAT(files[1].second, testing::StartsWith("#version: 0.2\n"));
  const std::string json = roberta_json(files[0].second, files[1].second, "vocab.json");
  const Vocabulary again = Vocabulary::parse(json, "again.json");
  EXPECT_EQ(again.tokens, vocabulary.tokens);
  std::vector<std::int32_t> first;
  std::vector<std::int32_t> second;
  Tokenizer(vocabulary).encode("a## ###### banana", first);
  Tokenizer(again).encode("a## ###### banana", second);
  EXPECT_EQ(first, second);
  EXPECT_THAT(roberta_files(""), testing::IsEmpty());
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
