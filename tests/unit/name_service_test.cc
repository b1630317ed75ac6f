#include "base/system/name_service.h"

#include <gtest/gtest.h>

#include <future>

namespace bp {
namespace {

using namespace std::chrono_literals;

TEST(Resolve, AcceptsNumericAddressesWithoutALookup) {
  std::string why;
  const auto only_numbers = [](const char* host, const char* port, const addrinfo* hints,
                               addrinfo** found) {
    EXPECT_NE(hints->ai_flags & AI_NUMERICHOST, 0) << "a numeric address must not be looked up";
    return ::getaddrinfo(host, port, hints, found);
  };
  for (const char* host : {"127.0.0.1", "::1"}) {
    const Addresses found = resolve({host, "80"}, Deadline(0ms), why, only_numbers);
    ASSERT_TRUE(found) << why;
    EXPECT_EQ(found->ai_socktype, SOCK_STREAM);
  }
}

TEST(Resolve, FindsNames) {
  std::string why;
  EXPECT_TRUE(resolve({"localhost", "80", SOCK_DGRAM}, Deadline(30s), why)) << why;
}

TEST(Resolve, ReportsAnUnknownName) {
  std::string why;
  const auto no_such_name = [](const char*, const char*, const addrinfo*, addrinfo**) {
    return EAI_NONAME;
  };
  EXPECT_FALSE(resolve({"no_such_name", "80"}, Deadline(30s), why, no_such_name));
  EXPECT_EQ(why, "Name or service not known");
}

// docs/acceptance.md, Launcher: A name service that gives no answer ends at the deadline.
TEST(Resolve, SilentNameServiceEndsAtTheDeadline) {
  std::promise<void> over;
  const auto asked = std::make_shared<std::promise<void>>();
  std::string why;
  const auto silent = [end = over.get_future().share(), asked](const char*, const char*,
                                                               const addrinfo* hints, addrinfo**) {
    if ((hints->ai_flags & AI_NUMERICHOST) == 0) {
      end.wait();
      asked->set_value();
    }
    return EAI_NONAME;
  };
  EXPECT_FALSE(resolve({"far-away", "80"}, Deadline(20ms), why, silent));
  EXPECT_EQ(why, "the name service has not answered for far-away");
  auto late = asked->get_future();
  over.set_value();  // the late answer must do no harm
  EXPECT_EQ(late.wait_for(30s), std::future_status::ready);
}

}  // namespace
}  // namespace bp
