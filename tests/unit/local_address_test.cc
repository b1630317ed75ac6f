#include "comm/transport/local_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bp/error.h"

namespace bp {
namespace {

using testing::HasSubstr;

TEST(ListenOn, IsLoopbackWhereTheStoreIs) {
  EXPECT_EQ(listen_on("", {"127.0.0.1", 4711}).address, "127.0.0.1");
}

TEST(ListenOn, TakesAnInterfaceByName) {
  const ListenOn found = listen_on("lo", {"127.0.0.1", 4711});
  EXPECT_EQ(found.interface, "lo");
  EXPECT_EQ(found.address, "");
}

TEST(ListenOn, TakesAnAddress) {
  EXPECT_EQ(listen_on("127.0.0.2", {"127.0.0.1", 4711}).address, "127.0.0.2");
}

TEST(ListenOn, NamesTheInterfacesThereAre) {
  try {
    static_cast<void>(listen_on("no-such interface", {"127.0.0.1", 4711}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_THAT(error.what(), HasSubstr("'no-such interface'"));
    EXPECT_THAT(error.what(), HasSubstr(" lo"));
  }
}

}  // namespace
}  // namespace bp
