// predictions.csv: what the model says of every test sample, in order.
//
//   sample_id,text_id,label,prediction,p_negative,p_positive
//   8012,1,positive,positive,0.012345,0.987655
//
// Fields are quoted as RFC 4180 says, where they need it; lines end with a line feed. Labels are
// written by name; a sample without one has an empty field. Probabilities have six decimals.
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
  int label = -1;  // -1: none known
  int prediction = 0;
  std::span<const float> probabilities = {};  // one a class
};

class PredictionsWriter {
 public:
  // Writes beside `path`, which appears complete by finish() or not at all. Throws io.
  PredictionsWriter(const std::string& path, const std::vector<std::string>& labels);
  PredictionsWriter(const PredictionsWriter&) = delete;
  PredictionsWriter& operator=(const PredictionsWriter&) = delete;

  // Throws invalid_argument unless sample ids ascend: every sample once, in order.
  void add(const Prediction& prediction);
  void finish();  // throws io

 private:
  PartFile file_;
  std::vector<std::string> labels_;  // quoted
  std::int64_t last_id_ = -1;
  std::string line_;
};

// `text` as one field of a CSV line.
[[nodiscard]] std::string csv_field(std::string_view text);

}  // namespace bp::trainer
