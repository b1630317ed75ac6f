// The scores of a predictions.csv that bert_train wrote. Its probabilities have six decimals, so
// scores of probabilities may differ from those of the run in the seventh.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/options/setting.h"
#include "base/report/section.h"
#include "trainer/report/evaluation_summary.h"

namespace bp::trainer {

struct FileToScore {
  std::string path = {};
  std::string name = {};               // of what is scored: "test"
  std::vector<Setting> settings = {};  // of the run that wrote it, if that is known
  // Returns the text of a row, or "" if it is not known. Null: none is.
  std::function<std::string(std::int64_t sample_id, std::int64_t text_id)> text = {};

  [[nodiscard]] std::string text_of(std::int64_t sample_id, std::int64_t text_id) const {
    return text ? text(sample_id, text_id) : "";
  }
};

struct ScoredFile {
  EvaluationSummary summary = {};
  std::vector<std::string> lines = {};  // for the terminal; tables end with a line feed
  std::string errors = {};              // the worst rows, for the terminal; may be empty
  Sections sections = {};               // for a page
};

// Lets the task score the file whose predictions have these columns. Returns nullopt if there is
// none. Throws InputError: 66 if the file cannot be read, 65 with the line if it is damaged.
[[nodiscard]] std::optional<ScoredFile> score_file(const FileToScore& file);

}  // namespace bp::trainer
