// Decides which texts are for training, which for choosing, and which for the final test.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trainer/store/sample_store.h"

namespace bp::trainer {

// The classes of the rows that a stratified split divides.
class Strata {
 public:
  // Takes the class of the next row.
  void add(std::string_view name) {
    const auto found = numbers_.find(name);
    const auto next = static_cast<std::int32_t>(numbers_.size());
    of_rows_.push_back(found != numbers_.end() ? found->second
                                               : numbers_.emplace(name, next).first->second);
  }
  // Leaves out the rows for which `keeps` returns false; they count from 1.
  void keep_if(const std::function<bool(std::int64_t row)>& keeps) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < of_rows_.size(); ++i) {
      if (keeps(static_cast<std::int64_t>(i) + 1)) of_rows_[kept++] = of_rows_[i];
    }
    of_rows_.resize(kept);
  }

  [[nodiscard]] const std::vector<std::int32_t>& of_rows() const { return of_rows_; }
  [[nodiscard]] std::size_t count() const { return numbers_.size(); }

 private:
  std::map<std::string, std::int32_t, std::less<>> numbers_;
  std::vector<std::int32_t> of_rows_;
};

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

// Returns the split of each row, so that `dev` and `test` rows are in those splits. Of each class
// they hold its share of the rows, rounded: the classes with the largest remainders get one row
// more. The last row of a class goes to train if the numbers permit it. Which rows of a class go
// where depends on the seed alone.
[[nodiscard]] std::vector<Split> stratified(const Strata& strata,
                                            std::int64_t dev,
                                            std::int64_t test,
                                            std::uint64_t seed);

}  // namespace bp::trainer
