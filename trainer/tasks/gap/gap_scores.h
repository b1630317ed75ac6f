// Scores of the task gap, equal to those of GAP's own scorer: whether the pronoun stands for A, and
// whether for B, are two decisions a row; F1 is that of the answer "yes".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/tasks/exact_sum.h"
#include "trainer/tasks/gap/gap_row.h"

namespace bp::trainer {

// The probabilities of neither, A and B.
using GapProbabilities = std::array<double, 3>;

// The decisions on a set of rows.
struct GapDecisions {
  std::int64_t true_positives = 0;
  std::int64_t false_positives = 0;
  std::int64_t false_negatives = 0;
  std::int64_t true_negatives = 0;

  // In percent; 0 if there is nothing to divide by.
  [[nodiscard]] double recall() const;
  [[nodiscard]] double precision() const;
  [[nodiscard]] double f1() const;
};

// Counts as integers. Adding up ranks is one all_reduce(sum) of values(), so the result is the same
// for any number and order of ranks.
class GapTally {
 public:
  GapTally();

  struct Result {
    int label = 0;  // 0: neither, 1: A, 2: B
    Gender gender = Gender::unknown;
    GapProbabilities probabilities{};
  };
  // Adds a row. The most probable answer, and the first of equal ones, is the model's. Throws
  // invalid_argument for a label that does not exist.
  void add(const Result& result);

  [[nodiscard]] std::int64_t rows() const;
  [[nodiscard]] double accuracy() const;  // share of the rows with the right answer; 0 without rows
  // Mean of -log(probability of the label), which Kaggle's competition bounds to 1e-15 and above; 0
  // without rows.
  [[nodiscard]] double log_loss() const;
  [[nodiscard]] GapDecisions overall() const;  // also rows whose pronoun has an unknown gender
  [[nodiscard]] GapDecisions of(Gender gender) const;
  // Returns feminine F1 / masculine F1, or NaN if one of them is 0.
  [[nodiscard]] double bias() const;

  // The layout is private to this class; the size is always the same.
  [[nodiscard]] std::span<std::int64_t> values() { return values_; }

 private:
  static constexpr std::size_t kDecisions = 4;  // of each gender
  static constexpr std::size_t kGenders = 3;
  static constexpr std::size_t kRight = kDecisions * kGenders;
  static constexpr std::size_t kRows = kRight + 1;
  static constexpr std::size_t kLoss = kRows + 1;

  std::vector<std::int64_t> values_;
};

// Returns what GAP's scorer prints: recall, precision, F1 and counts of decisions overall and of
// each gender, and the bias.
[[nodiscard]] std::string gap_scorecard(const GapTally& tally);

// Returns the first line of a file for Kaggle's competition on GAP, and the line of a row:
// "ID,A,B,NEITHER" with probabilities.
[[nodiscard]] std::string kaggle_header();
[[nodiscard]] std::string kaggle_line(std::string_view id, const GapProbabilities& probabilities);

}  // namespace bp::trainer
