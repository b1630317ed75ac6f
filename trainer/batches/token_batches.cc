#include "trainer/batches/token_batches.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <numeric>
#include <queue>
#include <utility>

namespace bp::trainer {
namespace {

// Fills one part after the other. Returns the ends of the parts, perhaps of more than a step has.
std::vector<std::int64_t> filled(std::int64_t most, std::span<const std::int64_t> lengths) {
  std::vector<std::int64_t> ends;
  std::int64_t tokens = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (tokens + lengths[i] > most) {
      ends.push_back(static_cast<std::int64_t>(i));
      tokens = 0;
    }
    tokens += lengths[i];
  }
  ends.push_back(static_cast<std::int64_t>(lengths.size()));
  return ends;
}

}  // namespace

std::int64_t samples_of_step(const TokenLimit& limit,
                             std::int64_t available,
                             const std::function<std::int64_t(std::int64_t)>& length_of) {
  std::int64_t full = 0;
  std::int64_t tokens = 0;
  for (std::int64_t i = 0; i < available; ++i) {
    const std::int64_t length = length_of(i);
    if (tokens + length > limit.most) {
      if (++full == limit.parts) return i;
      tokens = 0;
    }
    tokens += length;
  }
  return available;
}

std::vector<std::int64_t> balanced_parts(const TokenLimit& limit,
                                         std::span<const std::int64_t> lengths) {
  if (limit.parts == 0) {
    return balanced_parts({limit.most, std::ssize(filled(limit.most, lengths))}, lengths);
  }
  const std::int64_t total = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  const std::int64_t longest = lengths.empty() ? 0 : std::ranges::max(lengths);
  std::int64_t low = std::max(longest, (total + limit.parts - 1) / limit.parts);
  std::int64_t high = std::max(low, limit.most);
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (std::ssize(filled(middle, lengths)) <= limit.parts) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  std::vector<std::int64_t> ends = filled(high, lengths);
  ends.resize(static_cast<std::size_t>(limit.parts), std::ssize(lengths));
  return ends;
}

// A sample belongs to the part in which its middle lies.
std::vector<std::int64_t> weighted_parts(std::span<const double> weights,
                                         std::span<const std::int64_t> lengths) {
  const double weight = std::accumulate(weights.begin(), weights.end(), 0.0);
  const auto all =
      static_cast<double>(std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}));
  std::vector<std::int64_t> ends;
  std::size_t end = 0;
  double tokens = 0;
  double due = 0;
  for (const double own : weights) {
    due += all * own / weight;
    while (end < lengths.size() && tokens + static_cast<double>(lengths[end]) / 2 < due) {
      tokens += static_cast<double>(lengths[end++]);
    }
    ends.push_back(static_cast<std::int64_t>(end));
  }
  return ends;
}

std::vector<std::vector<std::int64_t>> deal_by_tokens(std::span<const std::int64_t> counts,
                                                      std::span<const std::int64_t> lengths,
                                                      bool by_share) {
  std::vector<std::int64_t> order(lengths.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater{},
                           [&](std::int64_t i) { return lengths[static_cast<std::size_t>(i)]; });
  using Part = std::pair<double, std::size_t>;  // its tokens and its number
  std::priority_queue<Part, std::vector<Part>, std::greater<>> open;
  for (std::size_t part = 0; part < counts.size(); ++part) {
    if (counts[part] > 0) open.emplace(0, part);
  }
  std::vector<std::vector<std::int64_t>> parts(counts.size());
  for (const std::int64_t sample : order) {
    const auto [tokens, part] = open.top();
    open.pop();
    parts[part].push_back(sample);
    if (std::ssize(parts[part]) == counts[part]) continue;
    const auto added = static_cast<double>(lengths[static_cast<std::size_t>(sample)]);
    open.emplace(tokens + added / (by_share ? static_cast<double>(counts[part]) : 1), part);
  }
  for (std::vector<std::int64_t>& part : parts) std::ranges::sort(part);
  return parts;
}

}  // namespace bp::trainer
