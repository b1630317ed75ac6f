#include "trainer/train/watch/weight_histograms.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace bp::trainer {
namespace {

constexpr std::size_t kRanges = 30;

}  // namespace

Histogram histogram_of(const at::Tensor& numbers) {
  const at::Tensor flat = numbers.detach().cpu().contiguous();
  const std::span all(flat.const_data_ptr<float>(), static_cast<std::size_t>(flat.numel()));
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Histogram histogram{.least = kInfinity, .most = -kInfinity};
  for (const float number : all) {
    if (!std::isfinite(number)) continue;
    const double value = double{number};
    histogram.least = std::min(histogram.least, value);
    histogram.most = std::max(histogram.most, value);
    histogram.count += 1;
    histogram.sum += value;
    histogram.squares += value * value;
  }
  if (histogram.count == 0) return {};
  const double width = (histogram.most - histogram.least) / kRanges;
  histogram.counts.resize(kRanges);
  for (std::size_t i = 1; i <= kRanges; ++i) {
    histogram.upper_ends.push_back(histogram.least + width * static_cast<double>(i));
  }
  for (const float number : all) {
    if (!std::isfinite(number)) continue;
    const double place = width > 0 ? (double{number} - histogram.least) / width : 0;
    ++histogram.counts[std::min(static_cast<std::size_t>(place), kRanges - 1)];
  }
  return histogram;
}

void write_weights(EventLog& events, std::int64_t step, const NamedTensors& parameters) {
  std::vector<EventLog::Weights> all;
  for (const auto& [name, tensor] : parameters) all.push_back({name, histogram_of(tensor)});
  events.weights(step, all);
}

}  // namespace bp::trainer
