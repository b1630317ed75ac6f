#include "trainer/tasks/classify/predicted_rows.h"

#include <optional>

#include "base/text.h"
#include "trainer/data/numbers.h"

namespace bp::trainer {
namespace {

float share_in(const CsvRows& rows, const std::string& field) {
  const std::optional<double> share = number_of(field);
  if (!share || *share < 0 || *share > 1) {
    rows.refuse(concat("'", field, "' is not a probability"));
  }
  return static_cast<float>(*share);
}

}  // namespace

PredictedRows read_predicted_rows(CsvRows& rows) {
  const std::vector<std::string> header = rows.fields();
  const std::size_t label = column_of(header, "label");
  const std::size_t prediction = column_of(header, "prediction");
  const std::size_t sample_id = column_of(header, "sample_id");
  const std::size_t text_id = column_of(header, "text_id");
  for (const std::size_t column : {label, prediction, sample_id, text_id}) {
    if (column == header.size()) {
      rows.refuse("it lacks one of the columns sample_id, text_id, label and prediction");
    }
  }
  PredictedRows read;
  const std::size_t first = prediction + 1;
  for (std::size_t i = first; i < header.size(); ++i) {
    if (!header[i].starts_with("p_")) rows.refuse(concat("'", header[i], "' is not p_LABEL"));
    read.labels.push_back(header[i].substr(2));
  }
  if (read.labels.empty()) rows.refuse("it has no column of probabilities (p_LABEL)");
  while (rows.next()) {
    const std::vector<std::string>& fields = rows.fields();
    read.sample_ids.push_back(rows.id(sample_id));
    read.text_ids.push_back(rows.id(text_id));
    read.answers.push_back(fields[label]);
    read.predictions.push_back(fields[prediction]);
    for (std::size_t i = first; i < fields.size(); ++i) {
      read.shares.push_back(share_in(rows, fields[i]));
    }
  }
  return read;
}

}  // namespace bp::trainer
