// The first reading of the sources. It finds everything that can be wrong with them before anything
// is written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trainer/data/plan.h"
#include "trainer/data/repeated_texts.h"

namespace bp::trainer {

struct Survey {
  std::vector<std::int64_t> rows;  // number of rows of each source
  std::int64_t all_rows = 0;
  // Sorted labels of the source to train on; or the model's labels.
  std::vector<std::string> labels;
  std::optional<TextRows> texts;  // of all sources
};

// Throws InputError 65: what RowSource throws, no rows, a row without a label (only a test file
// may leave labels empty), a label in a dev or test file that is none of the training labels or of
// the model's, a label that is to be rounded and is no number.
[[nodiscard]] Survey survey(const Plan& plan);

// Returns remarks on the labels for the user, one line each with the option that helps: on labels
// that differ only by blanks, and on almost as many labels as rows.
[[nodiscard]] std::vector<std::string> remarks_on_labels(const Plan& plan, const Survey& survey);

}  // namespace bp::trainer
