// Formats results as plain text for a terminal.
#pragma once

#include <string>
#include <vector>

#include "trainer/tasks/classify/scores.h"

namespace bp::trainer {

// Returns exactly what scikit-learn's classification_report(labels=all, target_names=labels,
// digits=digits, zero_division=0) prints, for up to 20 labels. For more labels it lists the 20 with
// the lowest F1, and a line says so. `labels` has one name per class.
[[nodiscard]] std::string classification_table(const Scores& scores,
                                               const std::vector<std::string>& labels,
                                               int digits = 3);

// Returns the most important scores in one line. `name`: what was scored, such as "test".
[[nodiscard]] std::string score_line(const std::string& name, const Scores& scores);
// Returns one line with the scores that the two tables do not have.
[[nodiscard]] std::string probability_line(const Scores& scores, const ProbabilityScores& given);

// Returns a table with a row per true label, a column per prediction, and sums as the last row and
// column. Long labels are cut. If the table would be wider than a terminal, returns a list of the
// 20 most frequent confusions.
[[nodiscard]] std::string confusion_table(const Tally& tally,
                                          const std::vector<std::string>& labels);

}  // namespace bp::trainer
