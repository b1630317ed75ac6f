// predictions.csv: the model's prediction for every test sample, in order.
//
//   sample_id,text_id,label,prediction,p_negative,p_positive
//   8012,1,positive,positive,0.012345,0.987655
//
// Fields that need it are quoted by RFC 4180; lines end with a line feed. Labels are written by
// name; a sample without a label has an empty field. Probabilities have six decimals.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/data/whole_file.h"

namespace bp::trainer {

struct Prediction {
  std::int64_t sample_id = 0;
  std::int64_t text_id = 0;
  int label = -1;  // -1: the sample has none
  int prediction = 0;
  std::span<const float> probabilities = {};  // one per class
};

class PredictionsWriter {
 public:
  // Writes to a temporary file, which finish() moves to `path`. Throws io.
  PredictionsWriter(const std::string& path, const std::vector<std::string>& labels);
  PredictionsWriter(const PredictionsWriter&) = delete;
  PredictionsWriter& operator=(const PredictionsWriter&) = delete;

  // Throws invalid_argument unless sample ids ascend: each sample must be added once, in order.
  void add(const Prediction& prediction);
  void finish();  // throws io

 private:
  PartFile file_;
  std::vector<std::string> labels_;  // quoted
  std::int64_t last_id_ = -1;
  std::string line_;
};

// Returns `text` as one field of a CSV line.
[[nodiscard]] std::string csv_field(std::string_view text);

}  // namespace bp::trainer
