#include "trainer/prepare/split.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <iterator>
#include <numeric>
#include <utility>

#include "base/permutation.h"

namespace bp::trainer {
namespace {

std::int64_t part_of(std::int64_t rows, double share) {
  const auto part = static_cast<std::int64_t>(std::llround(static_cast<double>(rows) * share));
  return share > 0 && rows >= 3 ? std::max<std::int64_t>(1, part) : part;
}

// Divides `rows` over the classes by their sizes, with the largest remainders rounded up. `taken`:
// how many rows of each class are taken already. A class keeps a row as long as another has more.
std::vector<std::int64_t> divide(std::int64_t rows,
                                 const std::vector<std::int64_t>& sizes,
                                 const std::vector<std::int64_t>& taken) {
  const std::int64_t all = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  std::vector<std::int64_t> parts;
  for (const std::int64_t size : sizes) parts.push_back(rows * size / all);
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater(),
                           [&](std::size_t c) { return rows * sizes[c] % all; });
  std::int64_t left = rows - std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
  for (const std::int64_t reserve : {1, 0}) {
    for (bool some = true; some && left > 0;) {
      some = false;
      for (const std::size_t c : order) {
        if (left == 0 || sizes[c] - taken[c] - parts[c] <= reserve) continue;
        ++parts[c];
        --left;
        some = true;
      }
    }
  }
  return parts;
}

// Each class has a permutation of its own.
std::uint64_t seed_of(std::uint64_t seed, std::size_t stratum) {
  constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15U;
  return seed ^ (kGolden * (stratum + 1));
}

}  // namespace

RowSplits::RowSplits(std::int64_t rows, const std::array<double, 3>& shares, std::uint64_t seed)
    : rows_(rows), dev_(part_of(rows, shares[1])), test_(part_of(rows, shares[2])), seed_(seed) {
  if (rows > 0 && dev_ + test_ >= rows) {  // rounding must leave at least one text for training
    (test_ >= dev_ ? test_ : dev_) = rows - 1 - std::min(dev_, test_);
  }
}

RowSplits::RowSplits(const Strata& strata, const std::array<double, 3>& shares, std::uint64_t seed)
    : RowSplits(std::ssize(strata.of_rows()), shares, seed) {
  of_rows_ = stratified(strata, dev_, test_, seed);
}

RowSplits::RowSplits(std::vector<Split> of_rows) : of_rows_(std::move(of_rows)) {}

Split RowSplits::of(std::int64_t row) const {
  if (!of_rows_.empty()) return of_rows_[static_cast<std::size_t>(row - 1)];
  constexpr std::int64_t kNoEpoch = -1;  // differs from the epochs of training
  const std::int64_t place = permuted(row - 1, rows_, seed_, kNoEpoch);
  if (place < dev_) {
    return Split::dev;
  }
  return place < dev_ + test_ ? Split::test : Split::train;
}

std::vector<Split> stratified(const Strata& strata,
                              std::int64_t dev,
                              std::int64_t test,
                              std::uint64_t seed) {
  if (strata.of_rows().empty()) return {};
  std::vector<std::int64_t> sizes(strata.count());
  for (const std::int32_t s : strata.of_rows()) ++sizes[static_cast<std::size_t>(s)];
  const std::vector<std::int64_t> to_dev =
      divide(dev, sizes, std::vector<std::int64_t>(sizes.size()));
  const std::vector<std::int64_t> to_test = divide(test, sizes, to_dev);
  constexpr std::int64_t kNoEpoch = -1;  // differs from the epochs of training
  std::vector<std::int64_t> next(sizes.size());
  std::vector<Split> splits;
  splits.reserve(strata.of_rows().size());
  for (const std::int32_t stratum : strata.of_rows()) {
    const auto s = static_cast<std::size_t>(stratum);
    const std::int64_t place = permuted(next[s]++, sizes[s], seed_of(seed, s), kNoEpoch);
    splits.push_back(place < to_dev[s]                ? Split::dev
                     : place < to_dev[s] + to_test[s] ? Split::test
                                                      : Split::train);
  }
  return splits;
}

}  // namespace bp::trainer
