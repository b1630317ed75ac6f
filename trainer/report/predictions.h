// predictions.csv: the model's prediction for every sample of a split, in order.
//
//   sample_id,text_id,label,prediction,p_negative,p_positive
//   8012,1,positive,positive,0.012345,0.987655
//
// The task says which columns follow the first two. Fields that need it are quoted by RFC 4180;
// lines end with a line feed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/data/whole_file.h"

namespace bp::trainer {

class PredictionsWriter {
 public:
  // Writes to a temporary file, which finish() moves to `path`. Throws io.
  PredictionsWriter(const std::string& path, const std::vector<std::string>& columns);
  PredictionsWriter(const PredictionsWriter&) = delete;
  PredictionsWriter& operator=(const PredictionsWriter&) = delete;

  struct Row {
    std::int64_t sample_id = 0;
    std::int64_t text_id = 0;
    std::span<const std::string> fields = {};  // one per column
  };
  // Throws invalid_argument unless sample ids ascend: each sample must be added once, in order.
  void add(const Row& row);
  void finish();  // throws io

 private:
  PartFile file_;
  std::size_t columns_;
  std::int64_t last_id_ = -1;
  std::string line_;
};

// Returns `text` as one field of a CSV line.
[[nodiscard]] std::string csv_field(std::string_view text);

// Returns a probability with six decimals.
[[nodiscard]] std::string probability_text(double probability);

}  // namespace bp::trainer
