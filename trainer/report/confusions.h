// Which labels a model takes for which: what is shown of a matrix that is too large to be read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/report/scores.h"

namespace bp::trainer {

// The most labels that a person reads in a matrix, and in a table with a line each.
inline constexpr std::size_t kMostInMatrix = 20;
inline constexpr std::size_t kMostInTable = 50;

struct Confusion {
  int label = 0;
  int prediction = 0;
  std::int64_t count = 0;
  double share = 0;  // of the samples with this label
};

// Every pair of different labels that occurred, the most frequent first; equal ones in the order of
// the labels.
[[nodiscard]] std::vector<Confusion> confusions_of(const Tally& tally);

// At most `most` classes, in ascending order: those with the most samples that were taken for
// another class or were another class; all when there are no more than `most`.
[[nodiscard]] std::vector<int> most_confused(const Tally& tally, std::size_t most);

// At most `most` of the classes that have samples, the lowest F1 first (of equal ones that
// with more samples); all classes in their own order when there are no more than `most`.
[[nodiscard]] std::vector<int> lowest_scores(const Scores& scores, std::size_t most);

// The matrix of the classes `shown` with a last row and column for all others together, which may
// be all zeros. Cell [i][j]: samples of the i-th of `shown` predicted as the j-th.
[[nodiscard]] std::vector<std::vector<std::int64_t>> grouped_matrix(const Tally& tally,
                                                                    const std::vector<int>& shown);

// classes.csv: label,precision,recall,f1,samples,predictions; a line each, in the labels' order.
[[nodiscard]] std::string classes_csv(const Tally& tally, const std::vector<std::string>& labels);
// confusion.csv: label,prediction,samples; a line for each cell of the matrix that is not 0.
[[nodiscard]] std::string confusion_csv(const Tally& tally, const std::vector<std::string>& labels);

}  // namespace bp::trainer
