#include "comm/peers/local_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bp/error.h"

namespace bp {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

const StoreAddress kStore{"127.0.0.1", 4711};

TEST(ListenOn, IsLoopbackIfTheStoreIs) {
  EXPECT_EQ(listen_on("", kStore, Deadline(30s)).address, "127.0.0.1");
}

TEST(ListenOn, TakesAnInterfaceByName) {
  const ListenOn found = listen_on("lo", kStore, Deadline(30s));
  EXPECT_EQ(found.interface, "lo");
  EXPECT_EQ(found.address, "");
}

TEST(ListenOn, TakesAnAddress) {
  EXPECT_EQ(listen_on("127.0.0.2", kStore, Deadline(30s)).address, "127.0.0.2");
}

TEST(ListenOn, TakesAHostNameAsItsAddress) {
  EXPECT_THAT(listen_on("localhost", kStore, Deadline(30s)).address,
              testing::AnyOf("127.0.0.1", "::1"));
}

TEST(ListenOn, NamesTheExistingInterfaces) {
  try {
    static_cast<void>(listen_on("no-such interface", kStore, Deadline(30s)));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_THAT(error.what(), HasSubstr("'no-such interface'"));
    EXPECT_THAT(error.what(), HasSubstr(" lo"));
  }
}

}  // namespace
}  // namespace bp
