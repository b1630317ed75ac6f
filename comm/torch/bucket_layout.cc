#include "comm/torch/bucket_layout.h"

#include <algorithm>
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

// What is left of the pieces after rounding down goes to the largest remainders.
std::vector<std::size_t> owned_counts(std::size_t count, std::span<const double> shares) {
  const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
  std::vector<std::size_t> pieces;
  std::vector<double> remainders;
  std::size_t left = pieces_of(count);
  for (const double share : shares) {
    const double exact = static_cast<double>(pieces_of(count)) * (share / all);
    pieces.push_back(std::min(static_cast<std::size_t>(exact), left));
    remainders.push_back(exact - static_cast<double>(pieces.back()));
    left -= pieces.back();
  }
  for (; left > 0; --left) {
    const auto largest = std::ranges::max_element(remainders);
    ++pieces[static_cast<std::size_t>(largest - remainders.begin())];
    *largest = -1;
  }
  std::vector<std::size_t> counts;
  std::size_t rest = count;
  for (const std::size_t n : pieces) {
    counts.push_back(std::min(n * kSquaresPiece, rest));
    rest -= counts.back();
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
