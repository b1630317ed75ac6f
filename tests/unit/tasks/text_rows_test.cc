#include "trainer/tasks/text_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace bp::trainer {
namespace {

using ::testing::ElementsAre;

TEST(TextRows, BeginWithTheFirstSampleOfEachText) {
  EXPECT_THAT(starts_of_texts(std::vector<std::int64_t>{7, 7, 9, 3, 3, 3}),
              ElementsAre(0, 2, 3, 6));
  EXPECT_THAT(starts_of_texts({}), ElementsAre(0));
  EXPECT_THAT(starts_of_samples(3), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(starts_of_samples(0), ElementsAre(0));
}

TEST(TextRows, HaveTheMeansOfTheirSamples) {
  const std::vector<float> numbers = {1, 10, 2, 30, 6, 50, 0.1F, -0.3F};
  const std::vector<std::size_t> starts = {0, 3, 4};
  EXPECT_THAT(means_of_rows(numbers, starts), ElementsAre(3, 30, 0.1F, -0.3F));
  EXPECT_EQ(means_of_rows(numbers, starts_of_samples(4)), numbers);
  EXPECT_TRUE(means_of_rows({}, starts_of_texts({})).empty());
}

TEST(TextRows, KeepWhatIsNotFinite) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> mean =
      means_of_rows(std::vector<float>{kNan, 1}, starts_of_texts(std::vector<std::int64_t>{1, 1}));
  ASSERT_EQ(mean.size(), 1U);
  EXPECT_TRUE(std::isnan(mean[0]));
}

}  // namespace
}  // namespace bp::trainer
