// A model's predictions, one row for each sample, in order: as CSV in predictions.csv,
//
//   sample_id,text_id,label,prediction,p_negative,p_positive
//   8012,1,positive,positive,0.012345,0.987655
//
// or as JSON lines. The task says which columns follow the first two. CSV quotes fields that need
// it by RFC 4180; lines end with a line feed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trainer/common/whole_file.h"

namespace bp::trainer {

struct PredictionColumn {
  std::string name;
  bool number = false;  // JSON has its fields without quotes, and an empty one as null
};

struct PredictionRow {
  std::int64_t sample_id = 0;
  std::int64_t text_id = 0;
  std::span<const std::string> fields = {};  // one per column
};

enum class PredictionFormat : std::uint8_t { csv, jsonl };

// Formats rows, each as a line with its line feed.
class PredictionLines {
 public:
  PredictionLines(PredictionFormat format, std::vector<PredictionColumn> columns)
      : format_(format), columns_(std::move(columns)) {}

  [[nodiscard]] std::string header() const;  // empty for JSON lines
  // Throws invalid_argument for another number of fields than columns.
  [[nodiscard]] std::string line(const PredictionRow& row) const;

 private:
  PredictionFormat format_;
  std::vector<PredictionColumn> columns_;
};

class PredictionsWriter {
 public:
  // Writes to a temporary file, which finish() moves to `path`. Throws io.
  PredictionsWriter(const std::string& path, const std::vector<PredictionColumn>& columns);
  PredictionsWriter(const PredictionsWriter&) = delete;
  PredictionsWriter& operator=(const PredictionsWriter&) = delete;

  // Throws invalid_argument unless sample ids ascend: each sample must be added once, in order.
  void add(const PredictionRow& row);
  void finish();  // throws io

 private:
  PartFile file_;
  PredictionLines lines_;
  std::int64_t last_id_ = -1;
};

// Returns a probability with six decimals.
[[nodiscard]] std::string probability_text(double probability);

}  // namespace bp::trainer
