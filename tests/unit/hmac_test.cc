#include "base/keys/hmac.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace bp {
namespace {

std::string hex(const Bytes32& bytes) {
  std::string text;
  for (const unsigned char byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

// RFC 4231, 4.3: a short key equals one padded with zeros.
TEST(Hmac, IsHmacSha256) {
  Bytes32 key{};
  std::copy_n("Jefe", 4, key.begin());
  EXPECT_EQ(hex(Hmac(key)({"what do ya want for nothing?"})),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST(Hmac, TakesPartsAndManyMessages) {
  Hmac hmac(random_bytes());
  const Bytes32 whole = hmac({"abc"});
  EXPECT_EQ(hmac({"a", "", "bc"}), whole);
  EXPECT_NE(hmac({"abd"}), whole);
  EXPECT_EQ(hmac({"abc"}), whole);
}

TEST(Hmac, DependsOnTheKey) { EXPECT_NE(Hmac(random_bytes())({"a"}), Hmac(random_bytes())({"a"})); }

TEST(EqualSecrets, ComparesSizeAndBytes) {
  EXPECT_TRUE(equal_secrets("", ""));
  EXPECT_TRUE(equal_secrets("secret", "secret"));
  EXPECT_FALSE(equal_secrets("secret", "secreT"));
  EXPECT_FALSE(equal_secrets("secret", "secre"));
}

}  // namespace
}  // namespace bp
