#include "trainer/model/noise.h"

#include <ATen/ops/zeros.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>

#include "trainer/model/kernels/kernels.h"
#include "trainer/model/passes/rows.h"

namespace bp::trainer {
namespace {

constexpr std::size_t kRandoms = 128;           // 16-bit numbers of kernels::random_block()
constexpr std::size_t kNormals = kRandoms / 2;  // each needs 32 bits

// Returns the `block`th normal numbers of the row, by the method of Box and Muller.
std::array<float, kNormals> normal_block(std::uint32_t block, const kernels::DropoutRow& row) {
  std::array<std::uint16_t, kRandoms> random{};
  kernels::random_block(random.data(), block, row);
  const auto uniform = [&](std::size_t i) {  // between 0 and 1, and never one of them
    const std::uint32_t bits = std::uint32_t{random[2 * i]} << 16 | random[2 * i + 1];
    return (static_cast<double>(bits) + 0.5) / 4294967296.0;
  };
  std::array<float, kNormals> normal{};
  for (std::size_t i = 0; i < kNormals; i += 2) {
    const double radius = std::sqrt(-2 * std::log(uniform(i)));
    const double angle = 2 * std::numbers::pi * uniform(i + 1);
    normal[i] = static_cast<float>(radius * std::cos(angle));
    normal[i + 1] = static_cast<float>(radius * std::sin(angle));
  }
  return normal;
}

}  // namespace

at::Tensor normal_noise(const Layout& layout, std::int64_t width, const TrainingStep& step) {
  at::Tensor noise = at::zeros({layout.tokens, width}, at::kFloat);
  auto* to = noise.data_ptr<float>();
  const DropoutRows rows(draw_of(step, 0, kNoiseSite), layout);
  for_rows(layout.offsets.back(), width, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t token = begin; token < end; ++token) {
      const kernels::DropoutRow row = rows.of(token);
      for (std::int64_t done = 0; done < width; done += kNormals) {
        const auto normal = normal_block(static_cast<std::uint32_t>(done) / kNormals, row);
        const auto count = std::min<std::int64_t>(kNormals, width - done);
        std::copy_n(normal.begin(), count, to + token * width + done);
      }
    }
  });
  return noise;
}

}  // namespace bp::trainer
