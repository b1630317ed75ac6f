// Results as plain text for a terminal.
#pragma once

#include <string>
#include <vector>

#include "trainer/report/scores.h"

namespace bp::trainer {

// Byte for byte what scikit-learn's classification_report(labels=all, target_names=labels,
// digits=digits, zero_division=0) prints, for up to 20 labels. Of more the 20 with the lowest F1
// are listed, and a line says so. `labels` has one name a class.
[[nodiscard]] std::string classification_table(const Scores& scores,
                                               const std::vector<std::string>& labels,
                                               int digits = 3);

// Rows: true label; columns: prediction; the last row and column are sums. Long labels are cut.
// Where that is wider than a terminal: a list of the 20 most frequent confusions.
[[nodiscard]] std::string confusion_table(const Tally& tally,
                                          const std::vector<std::string>& labels);

}  // namespace bp::trainer
