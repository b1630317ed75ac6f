// The counts of an evaluation: a confusion matrix and a sum of losses, as integers. Adding up ranks
// is one all_reduce(sum) of values(), and the result is bit-identical for any number and order of
// ranks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace bp::trainer {

class Tally {
 public:
  explicit Tally(int classes);  // throws invalid_argument for fewer than 2

  struct Result {
    int label = 0;       // the true class
    int prediction = 0;  // the class with the highest probability
    double loss = 0;     // -log(probability of the true class)
  };
  // Adds a sample. A loss above kLargestLoss counts as kLargestLoss; a NaN makes mean_loss() NaN.
  // Throws invalid_argument for a class that does not exist.
  void add(const Result& result);

  [[nodiscard]] int classes() const { return classes_; }
  [[nodiscard]] std::int64_t samples() const;
  struct Cell {
    int label = 0;
    int prediction = 0;
  };
  [[nodiscard]] std::int64_t count(const Cell& cell) const;
  [[nodiscard]] double mean_loss() const;  // 0 without samples; exact to 1e-9

  // Returns all counts, which the caller may sum over ranks in place. The layout is private to this
  // class; the size depends only on the number of classes.
  [[nodiscard]] std::span<std::int64_t> values() { return values_; }

  static constexpr double kLargestLoss = 1000;

 private:
  [[nodiscard]] std::size_t place(const Cell& cell) const;

  int classes_;
  std::vector<std::int64_t> values_;  // counts [classes, classes], sum of losses, number of NaNs
};

}  // namespace bp::trainer
