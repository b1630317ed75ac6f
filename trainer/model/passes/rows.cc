#include "trainer/model/passes/rows.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>

namespace bp::trainer {
namespace {

// The finaliser of splitmix64: each bit of the input affects each bit of the output.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

}  // namespace

at::Tensor zero_rows(std::int64_t rows, std::int64_t width) {
  at::Tensor zeros = at::empty({rows, width}, at::kFloat);
  auto* to = zeros.data_ptr<float>();
  for_rows(rows, width, [&](std::int64_t begin, std::int64_t end) {
    std::fill(to + begin * width, to + end * width, 0.0F);
  });
  return zeros;
}

DropoutRows::DropoutRows(const Dropout& dropout, const Layout& layout) : layout_(layout) {
  const std::uint64_t key = mix(mix(dropout.seed) ^ dropout.step);
  row_.key[0] = static_cast<std::uint32_t>(key);
  row_.key[1] = static_cast<std::uint32_t>(key >> 32);
  row_.site = dropout.site;
  // The share is rounded to 1/65536. Scaling by the share that is really kept leaves the mean
  // exact.
  row_.threshold = static_cast<std::uint16_t>(std::min(65535L, std::lround(dropout.share * 65536)));
  row_.scale = 65536.0F / (65536.0F - static_cast<float>(row_.threshold));
}

kernels::DropoutRow DropoutRows::of(std::int64_t token) const {
  const auto t = static_cast<std::size_t>(token);
  kernels::DropoutRow result = row_;
  result.sample = static_cast<std::uint32_t>(layout_.sample_of_token[t]);
  result.row = static_cast<std::uint32_t>(layout_.place_of_token[t]);
  return result;
}

kernels::DropoutRow DropoutRows::of(int row, int head, int token) const {
  kernels::DropoutRow result = row_;
  result.sample = static_cast<std::uint32_t>(layout_.samples[static_cast<std::size_t>(row)]);
  result.row = static_cast<std::uint32_t>(head) << 16 | static_cast<std::uint32_t>(token);
  return result;
}

}  // namespace bp::trainer
