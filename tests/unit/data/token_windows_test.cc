#include "trainer/data/token_windows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

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
