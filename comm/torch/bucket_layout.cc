#include "comm/torch/bucket_layout.h"

#include <algorithm>
#include <map>

namespace bp {
namespace {

constexpr std::size_t kAlignment = 64;  // bytes; that of LibTorch's own allocator

std::size_t aligned(std::size_t elements, DataType type) {
  const std::size_t step = kAlignment / size_of(type);
  return (elements + step - 1) / step * step;
}

}  // namespace

std::vector<BucketPlan> plan_buckets(std::span<const GradientSize> gradients,
                                     const BucketLimits& limits) {
  std::vector<BucketPlan> complete;
  std::map<DataType, BucketPlan> open;
  const auto limit = [&] { return complete.empty() ? limits.first_bytes : limits.bytes; };

  for (std::size_t i = gradients.size(); i-- > 0;) {
    const auto [count, type] = gradients[i];
    BucketPlan& bucket = open[type];
    bucket.type = type;
    if (!bucket.slots.empty() && (aligned(bucket.count, type) + count) * size_of(type) > limit()) {
      complete.push_back(std::move(bucket));
      bucket = {.type = type};
    }
    const std::size_t offset = aligned(bucket.count, type);
    bucket.slots.push_back({.parameter = i, .offset = offset, .count = count});
    bucket.count = offset + count;
  }
  for (auto& [type, bucket] : open) {
    complete.push_back(std::move(bucket));
  }

  // The lower a bucket's last parameter, the later it is complete.
  std::ranges::sort(complete, std::greater{},
                    [](const BucketPlan& bucket) { return bucket.slots.back().parameter; });
  if (complete.empty() || complete.back().type != DataType::f32) {
    complete.push_back({.type = DataType::f32});
  }
  return complete;
}

}  // namespace bp
