// What dropout draws: Philox's numbers, of which each place has its own.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "trainer/model/kernels/kernels.h"

namespace bp::trainer::kernels {
namespace {

// Random123's known answer for Philox4x32-10 with counter 0 and key 0.
TEST(Random, IsPhilox) {
  DropoutRow row;
  std::uint16_t out[128];
  random_block(out, 0, row);
  EXPECT_EQ(out[0] | std::uint32_t{out[16]} << 16, 0x6627e8d5U);
  EXPECT_EQ(out[32] | std::uint32_t{out[48]} << 16, 0xe169c58dU);
  EXPECT_EQ(out[64] | std::uint32_t{out[80]} << 16, 0xbc57ac4cU);
  EXPECT_EQ(out[96] | std::uint32_t{out[112]} << 16, 0x9b00dbd8U);
}

// Frequencies lie within 5 standard deviations. Neighbours in the stream, rows, samples, sites and
// steps draw independently.
TEST(Random, DropsTheShareThatWasAskedFor) {
  const int rows = 400;
  const int width = 512;
  const double share = 6554.0 / 65536;
  const std::vector<float> ones(width, 1.0F);
  std::vector<std::vector<bool>> dropped;
  for (int r = 0; r < rows; ++r) {
    DropoutRow row;
    row.threshold = 6554;
    row.row = static_cast<std::uint32_t>(r % 5);
    row.sample = static_cast<std::uint32_t>(r / 5 % 4);
    row.site = static_cast<std::uint32_t>(r / 20 % 4);
    row.key[0] = static_cast<std::uint32_t>(r / 80);
    std::vector<float> y(width);
    kernels<float>().dropout(y.data(), ones.data(), width, row);
    std::vector<bool> line;
    for (const float x : y) line.push_back(x == 0.0F);
    dropped.push_back(line);
  }
  const auto expect_share = [](double count, double n, double expected) {
    EXPECT_NEAR(count / n, expected, 5 * std::sqrt(expected * (1 - expected) / n));
  };
  double total = 0;
  double with_next = 0;
  double with_next_row = 0;
  for (std::size_t r = 0; r < dropped.size(); ++r) {
    for (std::size_t i = 0; i < width; ++i) {
      total += dropped[r][i];
      if (i + 1 < width) with_next += dropped[r][i] && dropped[r][i + 1];
      if (r + 1 < dropped.size()) with_next_row += dropped[r][i] && dropped[r + 1][i];
    }
  }
  expect_share(total, rows * width, share);
  expect_share(with_next, rows * (width - 1), share * share);
  expect_share(with_next_row, (rows - 1) * width, share * share);
}

}  // namespace
}  // namespace bp::trainer::kernels
