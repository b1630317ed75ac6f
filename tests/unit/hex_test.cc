#include "base/hex.h"

#include <gtest/gtest.h>

#include <array>

namespace bp {
namespace {

using Three = std::array<unsigned char, 3>;

TEST(Hex, ReadsBackWhatItWrites) {
  const Three bytes = {0x00, 0x2f, 0xfe};
  EXPECT_EQ(to_hex(bytes), "002ffe");
  Three back = {};
  EXPECT_TRUE(parse_hex("002ffe", back));
  EXPECT_EQ(back, bytes);
}

TEST(Hex, RefusesOtherTexts) {
  Three bytes = {};
  for (const char* const text : {"", "002ff", "002ffe0", "002FFE", "00 ffe", "002ffg"}) {
    EXPECT_FALSE(parse_hex(text, bytes)) << text;
  }
}

}  // namespace
}  // namespace bp
