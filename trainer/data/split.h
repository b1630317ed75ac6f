// Decides which texts are for training, which for choosing, and which for the final test.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "trainer/data/sample_store.h"
#include "trainer/data/strata.h"

namespace bp::trainer {

// Divides texts by a permutation of the rows, which is the same for the same seed and number of
// rows. The sizes are the requested shares, rounded; with three or more texts, each share above 0
// gets at least one.
class SplitByShare {
 public:
  SplitByShare(std::int64_t rows, const std::array<double, 3>& shares, std::uint64_t seed);
  // The same sizes, with their share of each class: see stratified(). `strata`: of all rows.
  SplitByShare(const Strata& strata, const std::array<double, 3>& shares, std::uint64_t seed);
  [[nodiscard]] Split of(std::int64_t row) const;  // rows count from 1

 private:
  std::int64_t rows_;
  std::int64_t dev_;  // number of dev texts
  std::int64_t test_;
  std::uint64_t seed_;
  std::vector<Split> of_rows_;  // of a stratified split
};

}  // namespace bp::trainer
