#include "trainer/text/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bp/error.h"
#include "tests/support/scratch.h"

namespace bp::trainer {
namespace {

using testing::HasSubstr;

const Vocabulary kVocabulary{{"[PAD]", "[UNK]",  "[CLS]", "[SEP]",       "[MASK]", "un",
                              "##aff", "##able", "##a",   "##b",         "a",      ".",
                              "[",     "]",      "sep",   "caf\xC3\xA9", "cafe",   "\xE4\xB8\xAD",
                              "!",     "U",      "xy",    "##ab"}};

std::string tokens_of(std::string_view text, bool lower_case = true) {
  Tokenizer tokenizer(kVocabulary, lower_case);
  std::vector<std::int32_t> ids;
  tokenizer.encode(text, ids);
  std::vector<std::int32_t> again;  // now from the cache
  tokenizer.encode(text, again);
  EXPECT_EQ(again, ids);
  std::string tokens;
  for (const std::int32_t id : ids) {
    tokens += (tokens.empty() ? "" : " ") + kVocabulary.tokens[static_cast<std::size_t>(id)];
  }
  return tokens;
}

TEST(Tokenizer, TakesTheLongestPieceFirst) {
  EXPECT_EQ(tokens_of("unaffable"), "un ##aff ##able");
  EXPECT_EQ(tokens_of("unab"), "un ##ab");
  EXPECT_EQ(tokens_of("unabx a"), "[UNK] a");
  EXPECT_EQ(tokens_of(""), "");
}

TEST(Tokenizer, SplitsAtSpacePunctuationAndIdeographs) {
  EXPECT_EQ(tokens_of("a.a!\ta\n\xC2\xA0"
                      "a"),
            "a . a ! a a");
  EXPECT_EQ(tokens_of("a\xE4\xB8\xAD"
                      "a"),
            "a \xE4\xB8\xAD a");
}

TEST(Tokenizer, LowersAndStripsAccentsOnlyWhenUncased) {
  EXPECT_EQ(tokens_of("Caf\xC3\x89 CAFE\xCC\x81"), "cafe cafe");
  EXPECT_EQ(tokens_of("caf\xC3\xA9 U", false), "caf\xC3\xA9 U");
  EXPECT_EQ(tokens_of("Cafe", false), "[UNK]");
}

TEST(Tokenizer, IgnoresBytesThatAreNoUtf8) {
  EXPECT_EQ(tokens_of("un\xff"
                      "aff\xc3"
                      "able\xe4\xb8"),
            "un ##aff ##able");
  EXPECT_EQ(tokens_of("\xf0"), "");
}

TEST(Tokenizer, IgnoresControlCharacters) {
  EXPECT_EQ(tokens_of("x\x01y a\xE2\x80\x8B"
                      "a x\x7Fy"),
            "xy a ##a xy");
  EXPECT_EQ(tokens_of("\x01\xC2\xAD"), "");
}

TEST(Tokenizer, SpecialTokensInTheTextAreTokensIfSpelledExactly) {
  EXPECT_EQ(tokens_of("a[SEP]a [MASK]"), "a [SEP] a [MASK]");
  EXPECT_EQ(tokens_of("[sep] [SEP"), "[ sep ] [ sep");
}

TEST(Tokenizer, AWordOfMoreThanAHundredCharactersIsUnknown) {
  EXPECT_EQ(tokens_of(std::string(100, 'a')).substr(0, 9), "a ##a ##a");
  EXPECT_EQ(tokens_of(std::string(101, 'a')), "[UNK]");
  std::string accents;
  for (int i = 0; i < 99; ++i) {
    accents += "\xC3\xA1";  // 198 bytes
  }
  EXPECT_EQ(tokens_of("a" + accents).substr(0, 9), "a ##a ##a");
}

TEST(Tokenizer, IsCorrectWithAFullCache) {
  Tokenizer tokenizer(kVocabulary);
  std::vector<std::int32_t> ids;
  for (int i = 0; i < 600000; ++i) {
    ids.clear();
    tokenizer.encode("w" + std::to_string(i), ids);
    ASSERT_EQ(ids, std::vector<std::int32_t>{1});
  }
  ids.clear();
  tokenizer.encode("unaffable w1", ids);
  EXPECT_THAT(ids, testing::ElementsAre(5, 6, 7, 1));
}

TEST(Tokenizer, KnowsItsSpecialIds) {
  const Tokenizer tokenizer(kVocabulary);
  EXPECT_EQ(tokenizer.form().pad, 0);
  EXPECT_EQ(tokenizer.form().unknown, 1);
  EXPECT_EQ(tokenizer.form().cls, 2);
  EXPECT_EQ(tokenizer.form().sep, 3);
}

class VocabularyTest : public testing::Test {
 protected:
  std::string error_of(std::string_view content) {
    try {
      (void)Vocabulary::read(scratch_.write("vocab.txt", content));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      return error.what();
    }
    return "no error";
  }
  Scratch scratch_;
};

TEST_F(VocabularyTest, ReadsBothKindsOfLineEnds) {
  const std::string path = scratch_.write("vocab.txt", "[PAD]\r\n[UNK]\n[CLS]\n[SEP]\nword\n\n");
  EXPECT_THAT(Vocabulary::read(path).tokens,
              testing::ElementsAre("[PAD]", "[UNK]", "[CLS]", "[SEP]", "word"));
}

TEST_F(VocabularyTest, NamesFileAndLineOfWhatIsWrong) {
  EXPECT_THAT(error_of("[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\na\n"),
              HasSubstr("vocab.txt, line 7: 'a' is already in line 5"));
  EXPECT_THAT(error_of("[PAD]\n\xFF\n"), HasSubstr("vocab.txt, line 2: not UTF-8"));
  EXPECT_THAT(error_of("[PAD]\n[UNK]\n[CLS]\n"), HasSubstr("has no [SEP]"));
  try {
    (void)Vocabulary::read(scratch_.path("none"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("none: No such file"));
  }
}

}  // namespace
}  // namespace bp::trainer
