// Which texts are for training, which for choosing, which for the final test.
#pragma once

#include <array>
#include <cstdint>

#include "trainer/data/sample_store.h"

namespace bp::trainer {

// Deals texts out by a permutation of the rows: the same for the same seed and number of rows, and
// of exactly the sizes asked for, rounded (of three texts or more, each share above 0 gets one).
class SplitByShare {
 public:
  SplitByShare(std::int64_t rows, const std::array<double, 3>& shares, std::uint64_t seed);
  [[nodiscard]] Split of(std::int64_t row) const;  // from 1

 private:
  std::int64_t rows_;
  std::int64_t dev_;  // how many
  std::int64_t test_;
  std::uint64_t seed_;
};

}  // namespace bp::trainer
