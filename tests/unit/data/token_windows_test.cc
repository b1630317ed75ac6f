// docs/acceptance.md, Data: Long texts are folded, at sentence ends if asked.
#include "trainer/prepare/token_windows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <tuple>
#include <vector>

#include "tests/support/places.h"

namespace bp::trainer {
namespace {

using testing::ElementsAre;
using Ids = std::vector<std::int32_t>;

constexpr std::int32_t kCls = 2;
constexpr std::int32_t kSep = 3;

class TokenWindowsTest : public testing::Test {
 protected:
  static TokenWindows windows(int max_length, LongText long_text = LongText::fold) {
    PrepareOptions options;
    options.max_length = max_length;
    options.long_text = long_text;
    const Vocabulary words{{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b", "c", "d", "e", "f"}};
    return {options, Tokenizer(words, true)};
  }
  static std::vector<Ids> all(TokenWindows& windows) {
    std::vector<Ids> samples;
    while (windows.next()) samples.emplace_back(windows.sample().begin(), windows.sample().end());
    return samples;
  }
  // Returns the sample of a pair.
  static Ids pair(const char* first, const char* second, int max_length) {
    TokenWindows own = windows(max_length);
    own.encode_pair(first, second);
    const std::vector<Ids> samples = all(own);
    EXPECT_EQ(samples.size(), 1U);
    return samples.at(0);
  }
};

TEST_F(TokenWindowsTest, FoldsOrCutsALongText) {
  TokenWindows folds = windows(4);
  folds.encode("a b c d e");
  EXPECT_THAT(all(folds),
              ElementsAre(Ids{kCls, 4, 5, kSep}, Ids{kCls, 6, 7, kSep}, Ids{kCls, 8, kSep}));
  TokenWindows cuts = windows(4, LongText::truncate);
  cuts.encode("a b c d e");
  EXPECT_THAT(all(cuts), ElementsAre(Ids{kCls, 4, 5, kSep}));
  cuts.encode("");
  EXPECT_THAT(all(cuts), ElementsAre(Ids{kCls, kSep}));
}

TEST_F(TokenWindowsTest, APairHasTheFormOfItsTokenizer) {
  PrepareOptions options;
  options.max_length = 9;
  TokenWindows roberta(
      options, Tokenizer(Vocabulary::read(kSourceDir + "/tests/golden/tokenizers/roberta.json")));
  Ids letters;
  Tokenizer(Vocabulary::read(kSourceDir + "/tests/golden/tokenizers/roberta.json"))
      .encode("QXZ", letters);
  ASSERT_EQ(letters.size(), 3U);
  const auto [q, x, z] = std::tuple(letters[0], letters[1], letters[2]);
  roberta.encode_pair("QX", "Z");
  ASSERT_TRUE(roberta.next());
  EXPECT_THAT(roberta.sample(), ElementsAre(0, q, x, 2, 2, z, 2));
  EXPECT_THAT(roberta.token_types(), ElementsAre(0, 0, 0, 0, 0, 0, 0));
  roberta.encode_pair("QXQXQX", "ZZZ");
  ASSERT_TRUE(roberta.next());
  EXPECT_THAT(roberta.sample(), ElementsAre(0, q, x, q, 2, 2, z, z, 2)) << "at most nine";
  roberta.encode("Z");
  ASSERT_TRUE(roberta.next());
  EXPECT_THAT(roberta.sample(), ElementsAre(0, z, 2));
}

// The example of a trainer that folds texts in the same way.
class FoldedSentences : public testing::Test {
 protected:
  static constexpr const char* kText =
      "Beat my Republican opponent! She will remove stop signs from your neighborhood.";

  // Returns the numbers of tokens in the samples, without [CLS] and [SEP].
  static std::vector<std::size_t> lengths(const char* text, int max_length, LongText long_text) {
    PrepareOptions options;
    options.max_length = max_length;
    options.long_text = long_text;
    const Vocabulary words{{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "beat", "my", "republican",
                            "opponent", "!", "she", "will", "remove", "stop", "signs", "from",
                            "your", "neighborhood", ".", "?"}};
    TokenWindows windows(options, Tokenizer(words, true));
    windows.encode(text);
    std::vector<std::size_t> all;
    Ids tokens;
    while (windows.next()) {
      const auto own = windows.sample().subspan(1, windows.sample().size() - 2);
      tokens.insert(tokens.end(), own.begin(), own.end());
      all.push_back(own.size());
    }
    Ids whole;
    Tokenizer(words, true).encode(text, whole);
    EXPECT_EQ(tokens, whole);
    return all;
  }
};

TEST_F(FoldedSentences, WithoutRegardForTheirEnds) {
  EXPECT_THAT(lengths(kText, 4, LongText::fold), ElementsAre(2, 2, 2, 2, 2, 2, 2));
  EXPECT_THAT(lengths(kText, 8, LongText::fold), ElementsAre(6, 6, 2));
}

// docs/features.md, Input: Long texts folded at the ends of sentences | `--long-text fold-sentence`
TEST_F(FoldedSentences, AtTheirEnds) {
  EXPECT_THAT(lengths(kText, 4, LongText::fold_sentence), ElementsAre(2, 2, 1, 2, 2, 2, 2, 1));
  EXPECT_THAT(lengths(kText, 8, LongText::fold_sentence), ElementsAre(5, 6, 3));
  EXPECT_THAT(lengths(kText, 12, LongText::fold_sentence), ElementsAre(5, 9));
  EXPECT_THAT(lengths(kText, 16, LongText::fold_sentence), ElementsAre(14)) << "it fits";
  EXPECT_THAT(lengths("Beat! My stop. She? will", 7, LongText::fold_sentence), ElementsAre(5, 3))
      << "several short sentences share a sample";
  EXPECT_THAT(lengths("my.stop she!will from", 5, LongText::fold_sentence), ElementsAre(3, 3, 1))
      << "a mark within a word ends no sentence";
  EXPECT_THAT(lengths("my ... stop!?\n\nshe  ", 7, LongText::fold_sentence), ElementsAre(4, 4));
  EXPECT_THAT(lengths("", 4, LongText::fold_sentence), ElementsAre(0));
  EXPECT_THAT(lengths("  ", 4, LongText::fold_sentence), ElementsAre(0));
}

TEST_F(TokenWindowsTest, MakesOneSampleOfAPairWithItsTypes) {
  TokenWindows own = windows(10);
  own.encode_pair("a b", "c");
  ASSERT_TRUE(own.next());
  EXPECT_THAT(own.sample(), ElementsAre(kCls, 4, 5, kSep, 6, kSep));
  EXPECT_THAT(own.token_types(), ElementsAre(0, 0, 0, 0, 1, 1));
  EXPECT_FALSE(own.next());
  own.encode_pair("", "");
  ASSERT_TRUE(own.next());
  EXPECT_THAT(own.sample(), ElementsAre(kCls, kSep, kSep));
  EXPECT_THAT(own.token_types(), ElementsAre(0, 0, 1));
}

// What tokenizers 0.23 makes with truncation "longest_first".
TEST_F(TokenWindowsTest, CutsTheLongerTextOfAPairFirst) {
  EXPECT_EQ(pair("a b c d e", "f", 7), (Ids{kCls, 4, 5, 6, kSep, 9, kSep}));
  EXPECT_EQ(pair("f", "a b c d e", 7), (Ids{kCls, 9, kSep, 4, 5, 6, kSep}));
  EXPECT_EQ(pair("a b c d", "a b c d e", 8), (Ids{kCls, 4, 5, kSep, 4, 5, 6, kSep}));
  EXPECT_EQ(pair("a b c d e", "a b c d", 8), (Ids{kCls, 4, 5, 6, kSep, 4, 5, kSep}));
  EXPECT_EQ(pair("a b c", "a b c", 7), (Ids{kCls, 4, 5, kSep, 4, 5, kSep}));
}

}  // namespace
}  // namespace bp::trainer
