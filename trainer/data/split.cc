#include "trainer/data/split.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <utility>

#include "base/permutation.h"
#include "trainer/data/stratified.h"

namespace bp::trainer {
namespace {

std::int64_t part_of(std::int64_t rows, double share) {
  const auto part = static_cast<std::int64_t>(std::llround(static_cast<double>(rows) * share));
  return share > 0 && rows >= 3 ? std::max<std::int64_t>(1, part) : part;
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

}  // namespace bp::trainer
