// What an evaluation counts: a confusion matrix and a sum of losses, as plain integers. So adding
// up ranks is one all_reduce(sum) of values(), and the result does not depend on how many ranks
// there were nor on their order, to the last bit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace bp::trainer {

class Tally {
 public:
  explicit Tally(int classes);  // throws invalid_argument below 2

  struct Result {
    int label = 0;       // the true class
    int prediction = 0;  // the class with the highest probability
    double loss = 0;     // -log(probability of the true class)
  };
  // A loss above kLargestLoss counts as kLargestLoss; a NaN makes mean_loss() NaN. Throws
  // invalid_argument for a class that is not there.
  void add(const Result& result);

  [[nodiscard]] int classes() const { return classes_; }
  [[nodiscard]] std::int64_t samples() const;
  struct Cell {
    int label = 0;
    int prediction = 0;
  };
  [[nodiscard]] std::int64_t count(const Cell& cell) const;
  [[nodiscard]] double mean_loss() const;  // 0 without samples; exact to 1e-9

  // Everything above, to be summed over ranks in place. The layout is this class's own; its size
  // depends on the number of classes only.
  [[nodiscard]] std::span<std::int64_t> values() { return values_; }

  static constexpr double kLargestLoss = 1000;

 private:
  [[nodiscard]] std::size_t place(const Cell& cell) const;

  int classes_;
  std::vector<std::int64_t> values_;  // counts [classes, classes], sum of losses, number of NaNs
};

}  // namespace bp::trainer
