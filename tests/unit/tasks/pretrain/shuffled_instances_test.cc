#include "trainer/tasks/pretrain/shuffled_instances.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <numeric>
#include <vector>

namespace bp::trainer {
namespace {

// Adds instances 0 .. count-1 and returns the shuffled order. Each has its number in all parts.
std::vector<std::int32_t> shuffled(std::int32_t count, std::uint64_t seed, std::size_t parts) {
  ShuffledInstances instances(::testing::TempDir(), seed, parts);
  for (std::int32_t i = 0; i < count; ++i) {
    const std::vector<std::int32_t> tokens(static_cast<std::size_t>(3 + i % 50), i);
    const std::vector<std::int32_t> masked(static_cast<std::size_t>(i % 3), i);
    instances.add({tokens, i, static_cast<NextSentence>(i % 3 - 1), masked, masked});
  }
  EXPECT_EQ(instances.size(), count);
  std::vector<std::int32_t> order;
  instances.for_each([&](const Instance& got) {
    const std::int32_t i = got.first;
    order.push_back(i);
    EXPECT_EQ(std::ssize(got.tokens), 3 + i % 50);
    EXPECT_EQ(std::ssize(got.positions), i % 3);
    EXPECT_EQ(std::ssize(got.ids), i % 3);
    EXPECT_EQ(static_cast<int>(got.next), i % 3 - 1);
    EXPECT_TRUE(std::ranges::all_of(got.tokens, [i](std::int32_t token) { return token == i; }));
  });
  return order;
}

TEST(ShuffledInstances, AreAllThereOnceInAnotherOrder) {
  std::vector<std::int32_t> order = shuffled(30000, 1, 7);  // every part spills
  EXPECT_EQ(order, shuffled(30000, 1, 7));
  EXPECT_NE(order, shuffled(30000, 2, 7));
  EXPECT_FALSE(std::ranges::is_sorted(order));
  std::ranges::sort(order);
  std::vector<std::int32_t> all(30000);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(order, all);
}

// With 5 degrees of freedom chi-square exceeds 26 once in 11,000 times.
TEST(ShuffledInstances, EveryOrderIsEquallyLikely) {
  std::map<std::vector<std::int32_t>, double> seen;
  for (std::uint64_t seed = 0; seed < 6000; ++seed) ++seen[shuffled(3, seed, 2)];
  ASSERT_EQ(seen.size(), 6U);
  double chi_square = 0;
  for (const auto& [order, times] : seen) chi_square += (times - 1000) * (times - 1000) / 1000;
  EXPECT_LT(chi_square, 26);
}

}  // namespace
}  // namespace bp::trainer
