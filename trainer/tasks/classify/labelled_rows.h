// Rows with labels, and what a model says of them: the samples of a split, or the lines of a
// predictions.csv.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trainer/tasks/classify/probability_scores.h"

namespace bp::trainer {

// The labels of each row, by number and in ascending order.
class LabelSets {
 public:
  void add(std::span<const int> labels) {
    labels_.insert(labels_.end(), labels.begin(), labels.end());
    ends_.push_back(labels_.size());
  }
  [[nodiscard]] std::size_t size() const { return ends_.size(); }
  [[nodiscard]] std::span<const int> of(std::size_t row) const {
    const std::size_t begin = row == 0 ? 0 : ends_[row - 1];
    return std::span(labels_).subspan(begin, ends_[row] - begin);
  }

 private:
  std::vector<int> labels_;
  std::vector<std::size_t> ends_;  // of each row in labels_
};

struct LabelledRows {
  std::vector<std::string> labels = {};  // the model's
  std::string rows_are = "samples";      // or texts
  bool several = false;                  // a row has any number of labels, not one
  char separator = '|';                  // between the labels of a row
  std::vector<float> shares = {};        // [rows, labels]: their probabilities
  LabelSets answers = {};                // what is true; empty: nothing, or it is not known
  LabelSets predictions = {};
  std::vector<std::int32_t> lengths = {};  // in tokens; empty: unknown

  [[nodiscard]] std::span<const float> shares_of(std::size_t row) const {
    return std::span(shares).subspan(row * labels.size(), labels.size());
  }
  // Returns whether the row counts. Of several labels a row may have none.
  [[nodiscard]] bool counts(std::size_t row) const { return several || !answers.of(row).empty(); }
  // Returns the mean over the row's answers of -log of their probabilities, each at least `least`.
  [[nodiscard]] double loss_of(std::size_t row, double least) const;
  // Returns the names of a row's labels, with the separator between them.
  [[nodiscard]] std::string names(std::span<const int> of_row) const;
  // Of rows with one label; views them.
  [[nodiscard]] ClassProbabilities probabilities() const;
};

}  // namespace bp::trainer
