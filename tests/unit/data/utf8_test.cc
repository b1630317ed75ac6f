#include "base/utf8.h"

#include <gtest/gtest.h>

namespace bp::trainer {
namespace {

constexpr auto kValid = std::string_view::npos;

TEST(Utf8, EveryCodePointRoundTrips) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) {
      continue;
    }
    std::string text;
    append_utf8(c, text);
    ASSERT_EQ(find_invalid_utf8(text), kValid) << static_cast<unsigned>(c);
    std::size_t at = 0;
    ASSERT_EQ(next_code_point(text, at), c);
    ASSERT_EQ(at, text.size());
  }
}

TEST(Utf8, FindsTheFirstBadByte) {
  EXPECT_EQ(find_invalid_utf8("plain ascii, longer than eight"), kValid);
  EXPECT_EQ(find_invalid_utf8("twelve bytes\xFF"), 12U);
  EXPECT_EQ(find_invalid_utf8("a\xC3"), 1U) << "an incomplete character";
  EXPECT_EQ(find_invalid_utf8("a\x80"), 1U) << "a continuation byte alone";
  EXPECT_EQ(find_invalid_utf8("\xC0\xAF"), 0U) << "an overlong form";
  EXPECT_EQ(find_invalid_utf8("\xE0\x9F\xBF"), 0U) << "an overlong form";
  EXPECT_EQ(find_invalid_utf8("\xED\xA0\x80"), 0U) << "a surrogate";
  EXPECT_EQ(find_invalid_utf8("\xF4\x90\x80\x80"), 0U) << "a value past the last code point";
  EXPECT_EQ(find_invalid_utf8("\xF5\x80\x80\x80"), 0U);
}

TEST(Utf8, InvalidBytesAreLeftOut) {
  EXPECT_EQ(valid_utf8(""), "");
  EXPECT_EQ(valid_utf8("caf\xc3\xa9"), "caf\xc3\xa9");
  EXPECT_EQ(valid_utf8("\xff"
                       "a\xc3"
                       "b\xed\xa0\x80"
                       "c\xf0\x9f"),
            "abc");
}

}  // namespace
}  // namespace bp::trainer
