#include "comm/torch/bucket_layout.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace bp {
namespace {

constexpr std::size_t kAlignment = 64;  // bytes; that of LibTorch's own allocator

std::size_t aligned(std::size_t elements, DataType type) {
  const std::size_t step = kAlignment / size_of(type);
  return (elements + step - 1) / step * step;
}

}  // namespace

std::vector<std::size_t> reverse_order(std::size_t gradients) {
  std::vector<std::size_t> order(gradients);
  for (std::size_t i = 0; i < gradients; ++i) {
    order[i] = gradients - 1 - i;
  }
  return order;
}

// Each owner ends where a piece does, as near to its share as possible.
std::vector<std::size_t> owned_counts(const BucketPlan& plan, std::span<const double> shares) {
  std::vector<std::size_t> ends = {0};
  for (const Slot& slot : plan.slots) {
    for (std::size_t at = 0; at < slot.count; at += kSquaresPiece) ends.push_back(slot.offset + at);
  }
  ends.push_back(plan.count);
  const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
  std::vector<std::size_t> counts;
  double sum = 0;  // of the shares so far
  std::size_t begin = 0;
  for (const double share : shares) {
    sum += share;
    const double exact = static_cast<double>(plan.count) * (sum / all);
    const auto distance = [&](std::size_t end) {
      return std::abs(static_cast<double>(end) - exact);
    };
    const std::size_t end = *std::ranges::min_element(ends, {}, distance);
    counts.push_back(end - begin);
    begin = end;
  }
  return counts;
}

std::vector<BucketPlan> plan_buckets(std::span<const GradientSize> gradients,
                                     std::span<const std::size_t> order,
                                     const BucketLimits& limits) {
  std::vector<BucketPlan> complete;
  std::map<DataType, BucketPlan> open;
  const auto wire_of = [&](DataType type) { return type == DataType::f32 ? limits.wire : type; };
  const auto limit = [&] { return complete.empty() ? limits.first_bytes : limits.bytes; };

  for (const std::size_t i : order) {
    const auto [count, type] = gradients[i];
    BucketPlan& bucket = open[type];
    bucket.type = type;
    bucket.wire = wire_of(type);
    if (!bucket.slots.empty() && (aligned(bucket.count, type) + count) * size_of(type) > limit()) {
      complete.push_back(std::move(bucket));
      bucket = {.type = type, .wire = wire_of(type)};
    }
    const std::size_t offset = aligned(bucket.count, type);
    bucket.slots.push_back({.parameter = i, .offset = offset, .count = count});
    bucket.count = offset + count;
  }
  for (auto& [type, bucket] : open) {
    complete.push_back(std::move(bucket));
  }

  std::vector<std::size_t> positions(gradients.size());  // of each gradient in `order`
  for (std::size_t i = 0; i < order.size(); ++i) {
    positions[order[i]] = i;
  }
  std::ranges::sort(complete, {}, [&](const BucketPlan& bucket) {
    return positions[bucket.slots.back().parameter];
  });
  if (complete.empty() || complete.back().wire != DataType::f32) {
    complete.push_back({});
  }
  return complete;
}

}  // namespace bp
