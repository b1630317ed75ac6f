#include "trainer/model/relative_bias.h"

#include <ATen/ops/embedding.h>
#include <ATen/ops/flip.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "trainer/model/passes/device_of.h"

namespace bp::trainer {

// Half of the buckets are for keys behind the query. Of a half, the first 8 are of one distance
// each, and the others double their reach with every second one.
int relative_bucket(int distance) {
  constexpr int kHalf = kRelativeBuckets / 2;
  const int far = std::min(std::abs(distance), kFarthest);
  const auto bits = static_cast<int>(std::bit_width(static_cast<unsigned>(far * far)));
  const int bucket = far < kHalf / 2 ? far : std::min(kHalf - 1, bits + 1);
  return distance > 0 ? kHalf + bucket : bucket;
}

at::Tensor by_distance(const at::Tensor& table, int longest) {
  std::vector<std::int64_t> buckets;
  for (int d = 1 - longest; d < longest; ++d) buckets.push_back(relative_bucket(d));
  const at::Tensor rows = on_device_of(table, at::tensor(buckets, at::kLong));
  return at::embedding(table, rows).t().contiguous();
}

// The query i reads the `longest` numbers from longest - 1 - i on.
at::Tensor by_query(const at::Tensor& relative, bool first_only) {
  const std::int64_t longest = (relative.size(1) + 1) / 2;
  const at::Tensor windows = relative.unfold(1, longest, 1);
  return first_only ? windows.slice(1, longest - 1) : at::flip(windows, {1});
}

}  // namespace bp::trainer
