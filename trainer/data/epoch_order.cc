#include "trainer/data/epoch_order.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/permutation.h"

namespace bp::trainer {

std::int64_t EpochOrder::row(std::int64_t epoch, std::int64_t position) const {
  if (static_cast<double>(epoch) >= options_.curriculum) {
    return permuted(position, options_.rows, options_.seed, epoch);
  }
  if (sorted_ != epoch) sort(epoch);
  return order_[static_cast<std::size_t>(position)];
}

void EpochOrder::sort(std::int64_t epoch) const {
  std::vector<std::int64_t> drawn;
  for (std::int64_t i = 0; i < options_.rows; ++i) {
    drawn.push_back(permuted(i, options_.rows, options_.seed, epoch));
  }
  constexpr double kRounding = 1e-6;  // of a row
  const double share = std::min(1.0, options_.curriculum - static_cast<double>(epoch));
  const auto count =
      static_cast<std::size_t>(share * static_cast<double>(options_.rows) + kRounding);
  const auto length = [&](std::int64_t row) {
    return (*options_.lengths)[static_cast<std::size_t>(row)];
  };
  order_ = drawn;
  std::ranges::stable_sort(order_, {}, length);
  order_.resize(count);
  std::vector<bool> taken(drawn.size());
  for (const std::int64_t row : order_) taken[static_cast<std::size_t>(row)] = true;
  for (const std::int64_t row : drawn) {
    if (!taken[static_cast<std::size_t>(row)]) order_.push_back(row);
  }
  sorted_ = epoch;
}

}  // namespace bp::trainer
