#include "base/nearest.h"

#include <gtest/gtest.h>

namespace bp {
namespace {

TEST(Nearest, FindsTheIntendedWord) {
  const std::vector<std::string> names = {"review", "stars", "id"};
  EXPECT_EQ(nearest_name("Review", names), "review");
  EXPECT_EQ(nearest_name("star", names), "stars");
  EXPECT_EQ(nearest_name("satrs", names), "stars");
  EXPECT_EQ(nearest_name("colour", names), "");
  EXPECT_EQ(nearest_name("review", {}), "");
}

}  // namespace
}  // namespace bp
