// The counts of an evaluation of several labels a sample, as integers. Adding up ranks is one
// all_reduce(sum) of values(), and the result is bit-identical for any number and order of ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "trainer/tasks/classify/class_scores.h"
#include "trainer/tasks/exact_sum.h"

namespace bp::trainer {

class LabelTally {
 public:
  explicit LabelTally(std::size_t labels);

  struct Result {
    const std::vector<bool>& answers;      // which labels the sample has
    const std::vector<bool>& predictions;  // which labels the model gives it
    double loss = 0;
  };
  void add(const Result& result);

  [[nodiscard]] std::size_t labels() const { return labels_; }
  [[nodiscard]] ClassCounts of_label(std::size_t label) const;
  [[nodiscard]] std::int64_t samples() const { return value(kSamples); }
  // Returns the number of samples that have a label. 0 means that the answers are unknown.
  [[nodiscard]] std::int64_t labelled() const { return value(kLabelled); }
  // Returns the number of samples of which each label was predicted and no other.
  [[nodiscard]] std::int64_t exact() const { return value(kExact); }

  // Return the mean over the samples of the loss, and of the precision, recall and F1 of each
  // sample's labels; 0 without samples.
  [[nodiscard]] double mean_loss() const { return mean(kLoss); }
  [[nodiscard]] double mean_precision() const { return mean(kPrecision); }
  [[nodiscard]] double mean_recall() const { return mean(kRecall); }
  [[nodiscard]] double mean_f1() const { return mean(kF1); }

  // The layout is private to this class; the size depends only on the number of labels.
  [[nodiscard]] std::span<std::int64_t> values() { return values_; }

 private:
  enum Count : std::uint8_t { kSamples, kLabelled, kExact, kCounts };
  enum Sum : std::uint8_t { kLoss, kPrecision, kRecall, kF1, kSums };

  [[nodiscard]] std::int64_t value(Count count) const { return values_[count]; }
  [[nodiscard]] static std::size_t place(Sum sum) { return kCounts + sum * ExactSum::kSize; }
  [[nodiscard]] static std::size_t place(std::size_t label) { return place(kSums) + 3 * label; }
  void add(Sum sum, double number);
  [[nodiscard]] double mean(Sum sum) const;

  std::size_t labels_;
  std::vector<std::int64_t> values_;  // the counts, the digits of the sums, three for each label
};

}  // namespace bp::trainer
