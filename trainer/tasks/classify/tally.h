// Counts rows with labels: how often each label was taken for each other one, and the losses.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trainer/tasks/classify/labelled_rows.h"

namespace bp::trainer {

// A confusion matrix.
class Tally {
 public:
  explicit Tally(int classes);               // throws invalid_argument for fewer than 2
  explicit Tally(const LabelledRows& rows);  // the rows with an answer, which have one label each

  struct Cell {
    int label = 0;       // the true class
    int prediction = 0;  // the class with the highest probability
  };
  // Throws invalid_argument for a class that does not exist, as count() does.
  void add(const Cell& cell) { ++counts_[place(cell)]; }

  [[nodiscard]] int classes() const { return classes_; }
  [[nodiscard]] std::int64_t samples() const;
  [[nodiscard]] std::int64_t count(const Cell& cell) const { return counts_[place(cell)]; }

 private:
  [[nodiscard]] std::size_t place(const Cell& cell) const;

  int classes_;
  std::vector<std::int64_t> counts_;  // [classes, classes]
};

// A sum of losses, as integers, so that their order does not matter.
class LossSum {
 public:
  // `exact`: without rounding. Else a loss above kLargestLoss counts as kLargestLoss, and a NaN
  // makes the mean NaN.
  explicit LossSum(bool exact);

  void add(double loss);
  // Returns the mean of this number of losses: 0 without any; exact to 1e-9.
  [[nodiscard]] double mean(std::int64_t losses) const;
  static constexpr double kLargestLoss = 1000;

 private:
  bool exact_;
  std::vector<std::int64_t>
      values_;  // the digits of an ExactSum; or the sum, and the number of NaNs
};

}  // namespace bp::trainer
