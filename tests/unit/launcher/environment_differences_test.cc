#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launcher/plan/dry_run.h"

namespace bp::launcher {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(EnvironmentDifferences, AreByVariableAndHost) {
  const auto found = environment_differences({{"a", {"SAME=1", "PATH=/a", "ONLY=x", "PWD=/1"}},
                                              {"b", {"SAME=1", "PATH=/b", "SSH_TTY=/dev/3"}}});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].name, "ONLY");
  EXPECT_THAT(found[0].values, ElementsAre(Pair("a", "x"), Pair("b", std::nullopt)));
  EXPECT_EQ(found[1].name, "PATH");
  EXPECT_THAT(found[1].values, ElementsAre(Pair("a", "/a"), Pair("b", "/b")));
}

TEST(EnvironmentDifferences, OfOneHostAreNone) {
  EXPECT_TRUE(environment_differences({{"a", {"A=1"}}}).empty());
  EXPECT_TRUE(environment_differences({}).empty());
}

}  // namespace
}  // namespace bp::launcher
