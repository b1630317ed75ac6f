#include "tests/support/largest_difference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

namespace {

using bp::test::LargestDifference;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(LargestDifference, IsTheLargest) {
  LargestDifference difference;
  difference.add(1, 1.5);
  difference.add(2, -1);
  difference.add(0, 0);
  EXPECT_EQ(difference.value(), 3);
}

TEST(LargestDifference, NanAnywhereFailsEveryTolerance) {
  for (const int at : {0, 1, 2}) {
    LargestDifference difference;
    for (int i = 0; i < 3; ++i) {
      difference.add(1, i == at ? kNan : 1);
    }
    EXPECT_FALSE(difference.value() < 1e30) << "NaN at " << at;
    EXPECT_FALSE(difference.value() > 0) << "NaN at " << at;
  }
}

TEST(LargestDifference, EqualInfinitiesAreNotEqualNumbers) {
  LargestDifference difference;
  difference.add(kInfinity, kInfinity);
  EXPECT_TRUE(std::isnan(difference.value()));
}

TEST(LargestDifference, NothingComparedIsAnError) {
  EXPECT_THROW((void)LargestDifference().value(), std::logic_error);
}

}  // namespace
