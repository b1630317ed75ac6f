#include "trainer/report/predictions.h"

#include <cstdio>

#include "base/text.h"
#include "bp/error.h"

namespace bp::trainer {
std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    return std::string(text);
  }
  std::string out = "\"";
  for (const char c : text) {
    out += c;
    if (c == '"') {
      out += '"';
    }
  }
  return out + '"';
}

std::string probability_text(double probability) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6f", probability);
  return text;
}

PredictionsWriter::PredictionsWriter(const std::string& path,
                                     const std::vector<std::string>& columns)
    : file_(path), columns_(columns.size()), line_("sample_id,text_id") {
  for (const std::string& column : columns) line_ += ',' + csv_field(column);
  file_.write(line_ += '\n');
}

void PredictionsWriter::add(const Row& row) {
  if (row.sample_id <= last_id_) {
    throw Error(ErrorCode::invalid_argument,
                concat("prediction of sample ", row.sample_id, " after that of sample ", last_id_,
                       ": each sample must be added once, in order"));
  }
  if (row.fields.size() != columns_) {
    throw Error(ErrorCode::invalid_argument,
                concat("prediction of sample ", row.sample_id, " has ", row.fields.size(),
                       " fields for ", columns_, " columns"));
  }
  last_id_ = row.sample_id;
  line_ = concat(row.sample_id, ',', row.text_id);
  for (const std::string& field : row.fields) line_ += ',' + csv_field(field);
  file_.write(line_ += '\n');
}

void PredictionsWriter::finish() { file_.keep(); }

}  // namespace bp::trainer
