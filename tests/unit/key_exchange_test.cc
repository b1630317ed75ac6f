#include "base/keys/key_exchange.h"

#include <gtest/gtest.h>

#include <string>

namespace bp {
namespace {

TEST(KeyExchange, BothEndsHaveOneKeyForEachPurpose) {
  const KeyExchange here;
  const KeyExchange there;
  ASSERT_NE(here.public_key(), there.public_key());
  const auto key = here.shared_key(view_of(there.public_key()), "job");
  ASSERT_TRUE(key);
  EXPECT_EQ(key, there.shared_key(view_of(here.public_key()), "job"));
  EXPECT_NE(key, here.shared_key(view_of(there.public_key()), "probe"));
  EXPECT_NE(key, KeyExchange().shared_key(view_of(there.public_key()), "job"));
}

TEST(KeyExchange, RefusesWhatIsNoKey) {
  const KeyExchange here;
  EXPECT_FALSE(here.shared_key("", "job"));
  EXPECT_FALSE(here.shared_key("short", "job"));
  EXPECT_FALSE(here.shared_key(std::string(32, '\0'), "job")) << "it would make any secret 0";
}

TEST(EncryptOnce, HidesTheTextAndNoticesEveryChange) {
  const Bytes32 key = random_bytes();
  for (const std::string& text :
       {std::string(), std::string("the job's key"), std::string(9999, 'x')}) {
    const std::string bytes = encrypt_once(key, text);
    EXPECT_EQ(bytes.find("key"), std::string::npos);
    EXPECT_EQ(decrypt_once(key, bytes), text);
    EXPECT_FALSE(decrypt_once(random_bytes(), bytes));
    EXPECT_FALSE(decrypt_once(key, bytes + "x"));
    EXPECT_FALSE(decrypt_once(key, bytes.substr(1)));
    for (const std::size_t at : {std::size_t{0}, bytes.size() - 1}) {
      std::string altered = bytes;
      altered[at] = static_cast<char>(altered[at] ^ 1);
      EXPECT_FALSE(decrypt_once(key, altered)) << at;
    }
  }
  EXPECT_FALSE(decrypt_once(key, "too short"));
}

}  // namespace
}  // namespace bp
