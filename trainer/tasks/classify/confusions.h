// Which labels a model confuses. It selects what to show of a matrix that is too large to read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/tasks/classify/scores.h"

namespace bp::trainer {

// The largest numbers of labels that are readable in a matrix, and in a table with one line each.
inline constexpr std::size_t kMostInMatrix = 20;
inline constexpr std::size_t kMostInTable = 50;

struct Confusion {
  int label = 0;
  int prediction = 0;
  std::int64_t count = 0;
  double share = 0;  // share of the samples with this label
};

// Returns every pair of different labels that occurred, the most frequent first, and pairs of equal
// frequency in the order of the labels.
[[nodiscard]] std::vector<Confusion> confusions_of(const Tally& tally);

// Returns at most `most` classes, in ascending order: those with the most mistakes, in which they
// were either the true or the predicted class. Returns all classes if there are no more than
// `most`.
[[nodiscard]] std::vector<int> most_confused(const Tally& tally, std::size_t most);

// Returns at most `most` of the classes that have samples, the lowest F1 first; of equal ones, the
// one with more samples first. Returns all classes in their own order if there are no more than
// `most`.
[[nodiscard]] std::vector<int> lowest_scores(const std::vector<ClassScores>& classes,
                                             std::size_t most);

// Returns the matrix of the classes `shown`, with a last row and column for all other classes
// together, which may be all zeros. Cell [i][j] is the number of samples of the i-th class of
// `shown` that were predicted as the j-th.
[[nodiscard]] std::vector<std::vector<std::int64_t>> grouped_matrix(const Tally& tally,
                                                                    const std::vector<int>& shown);

// Returns classes.csv: label,precision,recall,f1,samples,predictions; one line per label, in their
// order.
[[nodiscard]] std::string classes_csv(const std::vector<ClassScores>& classes,
                                      const std::vector<std::string>& labels);
// Returns confusion.csv: label,prediction,samples; one line for each cell of the matrix that is not
// 0.
[[nodiscard]] std::string confusion_csv(const Tally& tally, const std::vector<std::string>& labels);

}  // namespace bp::trainer
