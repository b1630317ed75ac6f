#include "trainer/report/predictions.h"

#include <cstdio>

#include "base/report/report_table.h"
#include "base/text.h"
#include "bp/error.h"
#include "trainer/report/json.h"

namespace bp::trainer {
namespace {

std::string json_string(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string probability_text(double probability) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6f", probability);
  return text;
}

std::string PredictionLines::header() const {
  if (format_ == PredictionFormat::jsonl) return "";
  std::string line = "sample_id,text_id";
  for (const PredictionColumn& column : columns_) line += ',' + csv_field(column.name);
  return line + '\n';
}

std::string PredictionLines::line(const PredictionRow& row) const {
  if (row.fields.size() != columns_.size()) {
    throw Error(ErrorCode::invalid_argument,
                concat("prediction of sample ", row.sample_id, " has ", row.fields.size(),
                       " fields for ", columns_.size(), " columns"));
  }
  if (format_ == PredictionFormat::csv) {
    std::string line = concat(row.sample_id, ',', row.text_id);
    for (const std::string& field : row.fields) line += ',' + csv_field(field);
    return line + '\n';
  }
  std::string line = concat("{\"sample_id\": ", row.sample_id, ", \"text_id\": ", row.text_id);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const std::string& field = row.fields[i];
    line += concat(", ", json_string(columns_[i].name), ": ",
                   columns_[i].number ? (field.empty() ? "null" : field) : json_string(field));
  }
  return line + "}\n";
}

PredictionsWriter::PredictionsWriter(const std::string& path,
                                     const std::vector<PredictionColumn>& columns)
    : file_(path), lines_(PredictionFormat::csv, columns) {
  file_.write(lines_.header());
}

void PredictionsWriter::add(const PredictionRow& row) {
  if (row.sample_id <= last_id_) {
    throw Error(ErrorCode::invalid_argument,
                concat("prediction of sample ", row.sample_id, " after that of sample ", last_id_,
                       ": each sample must be added once, in order"));
  }
  last_id_ = row.sample_id;
  file_.write(lines_.line(row));
}

void PredictionsWriter::finish() { file_.keep(); }

}  // namespace bp::trainer
