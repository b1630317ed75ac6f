// The rows of a predictions.csv whose predictions are labels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trainer/report/csv_rows.h"

namespace bp::trainer {

struct PredictedRows {
  std::vector<std::string> labels = {};  // the model's, from the columns p_LABEL
  std::vector<std::int64_t> sample_ids = {};
  std::vector<std::int64_t> text_ids = {};
  std::vector<std::string> answers = {};      // as written; empty: the row has none
  std::vector<std::string> predictions = {};  // as written
  std::vector<float> shares = {};             // [rows, labels]

  [[nodiscard]] std::size_t size() const { return answers.size(); }
};

// Reads the rows behind the header, which is the current row. Throws InputError (65) with the line
// for a probability that is none, and for a header without labels.
[[nodiscard]] PredictedRows read_predicted_rows(CsvRows& rows);

}  // namespace bp::trainer
