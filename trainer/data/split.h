// Decides which texts are for training, which for choosing, and which for the final test.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "trainer/data/sample_store.h"
#include "trainer/data/strata.h"

namespace bp::trainer {

// The split of each row of a source. By share, it divides texts by a permutation of the rows, which
// is the same for the same seed and number of rows. The sizes are the requested shares, rounded;
// with three or more texts, each share above 0 gets at least one.
class RowSplits {
 public:
  RowSplits(std::int64_t rows, const std::array<double, 3>& shares, std::uint64_t seed);
  // The same sizes, with their share of each class: see stratified(). `strata`: of all rows.
  RowSplits(const Strata& strata, const std::array<double, 3>& shares, std::uint64_t seed);
  explicit RowSplits(std::vector<Split> of_rows);  // as they are given
  [[nodiscard]] Split of(std::int64_t row) const;  // rows count from 1

 private:
  std::int64_t rows_ = 0;
  std::int64_t dev_ = 0;  // number of dev texts
  std::int64_t test_ = 0;
  std::uint64_t seed_ = 0;
  std::vector<Split> of_rows_;  // of a stratified or given split
};

}  // namespace bp::trainer
