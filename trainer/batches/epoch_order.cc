#include "trainer/batches/epoch_order.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <utility>

#include "base/permutation.h"

namespace bp::trainer {

std::int64_t EpochOrder::row(std::int64_t epoch, std::int64_t position) const {
  if (static_cast<double>(epoch) >= options_.curriculum && options_.group == 0) {
    return permuted(position, options_.rows, options_.seed, epoch);
  }
  if (sorted_ != epoch) sort(epoch);
  return order_[static_cast<std::size_t>(position)];
}

std::int32_t EpochOrder::length(std::int64_t row) const {
  return (*options_.lengths)[static_cast<std::size_t>(row)];
}

void EpochOrder::sort(std::int64_t epoch) const {
  const auto length_of = [this](std::int64_t row) { return length(row); };
  std::vector<std::int64_t> drawn;
  for (std::int64_t i = 0; i < options_.rows; ++i) {
    drawn.push_back(permuted(i, options_.rows, options_.seed, epoch));
  }
  constexpr double kRounding = 1e-6;  // of a row
  const double share = std::clamp(options_.curriculum - static_cast<double>(epoch), 0.0, 1.0);
  order_ = drawn;
  std::ranges::stable_sort(order_, {}, length_of);
  order_.resize(static_cast<std::size_t>(share * static_cast<double>(options_.rows) + kRounding));
  std::vector<bool> taken(drawn.size());
  for (const std::int64_t row : order_) taken[static_cast<std::size_t>(row)] = true;
  std::erase_if(drawn, [&](std::int64_t row) { return taken[static_cast<std::size_t>(row)]; });
  if (options_.group > 0) {
    append_groups(epoch, std::move(drawn));
  } else {
    order_.insert(order_.end(), drawn.begin(), drawn.end());
  }
  sorted_ = epoch;
}

void EpochOrder::append_groups(std::int64_t epoch, std::vector<std::int64_t> rows) const {
  const std::int64_t size = options_.group;
  const std::int64_t count = std::ssize(rows) / size;
  for (std::int64_t begin = 0; begin < count * size; begin += kGroupsOfWindow * size) {
    const std::int64_t end = std::min(begin + kGroupsOfWindow * size, count * size);
    std::stable_sort(rows.begin() + begin, rows.begin() + end,
                     [this](std::int64_t a, std::int64_t b) { return length(a) < length(b); });
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const auto group = rows.begin() + size * permuted(i, count, ~options_.seed, epoch);
    order_.insert(order_.end(), group, group + size);
  }
  order_.insert(order_.end(), rows.begin() + count * size, rows.end());
}

}  // namespace bp::trainer
