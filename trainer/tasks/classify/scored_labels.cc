// Scores the labels of a predictions.csv.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/input_error.h"
#include "base/options/setting.h"
#include "base/text.h"
#include "trainer/common/numbers.h"
#include "trainer/report/csv_rows.h"
#include "trainer/report/error_rows.h"
#include "trainer/tasks/classify/class_input.h"
#include "trainer/tasks/classify/label_remarks.h"
#include "trainer/tasks/classify/labelled_rows.h"
#include "trainer/tasks/classify/row_scorer.h"
#include "trainer/tasks/classify/tally.h"

namespace bp::trainer {
namespace {

// A probability that is written as 0.000000 is below this.
constexpr double kLeastShare = 5e-7;

// The rows as the file has them.
struct WrittenRows {
  std::vector<std::string> labels = {};  // the model's, from the columns p_LABEL
  std::vector<std::int64_t> sample_ids = {};
  std::vector<std::int64_t> text_ids = {};
  std::vector<std::string> answers = {};  // empty: the row has none
  std::vector<std::string> predictions = {};
  std::vector<float> shares = {};  // [rows, labels]
};

float share_in(const CsvRows& rows, const std::string& field) {
  const std::optional<double> share = number_of(field);
  if (!share || *share < 0 || *share > 1) {
    rows.refuse(concat("'", field, "' is not a probability"));
  }
  return static_cast<float>(*share);
}

// Reads the rows behind the header, which is the current row.
WrittenRows read_rows(CsvRows& rows) {
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
  WrittenRows read;
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

using Index = std::unordered_map<std::string, int>;

// Adds the labels in `field`, each once. Returns false if a part of it is not a label.
bool add_labels(const std::string& field, char separator, const Index& index, LabelSets& to) {
  std::vector<int> labels;
  for (std::size_t begin = 0; begin < field.size();) {
    const std::size_t end = std::min(field.find(separator, begin), field.size());
    const auto label = index.find(field.substr(begin, end - begin));
    if (label == index.end()) return false;
    labels.push_back(label->second);
    begin = end + 1;
  }
  std::ranges::sort(labels);
  const auto repeated = std::ranges::unique(labels);
  labels.erase(repeated.begin(), repeated.end());
  to.add(labels);
  return true;
}

// Sets the answers and predictions of rows with separators between labels. Returns false if the
// rows do not have this form.
bool set_labels(const WrittenRows& written, const Index& index, LabelledRows& rows) {
  rows.answers = rows.predictions = {};
  for (std::size_t i = 0; i < written.answers.size(); ++i) {
    if (!add_labels(written.answers[i], rows.separator, index, rows.answers)) return false;
    if (!add_labels(written.predictions[i], rows.separator, index, rows.predictions)) return false;
    if (!rows.several && rows.predictions.of(i).size() != 1) return false;
  }
  return true;
}

// Returns the rows with the numbers of their labels. Unless they are single labels, finds the
// separator with which all of them are labels of the model.
LabelledRows label_rows(const FileToScore& file, const WrittenRows& written, const Index& index) {
  constexpr char kNone = '\0';  // no label has it
  LabelledRows rows{.labels = written.labels, .separator = kNone, .shares = written.shares};
  const bool several = value_of(file.settings, "multi-label") == "true" || index.size() == 1;
  if (!several && set_labels(written, index, rows)) return rows;
  rows.several = true;
  for (const auto& known : label_separators()) {
    rows.separator = known.second;
    if (set_labels(written, index, rows)) return rows;
  }
  throw InputError(65, concat(file.path, " has labels that are none of its columns p_LABEL"),
                   "report reads the predictions that bert_train wrote as CSV");
}

bool has_labels(const std::vector<std::string>& header) {
  return column_of(header, "label") < header.size() && !header.empty() &&
         header.back().starts_with("p_");
}

}  // namespace

std::optional<ScoredFile> score_labels(const FileToScore& file, CsvRows& rows) {
  if (!has_labels(rows.fields())) return std::nullopt;
  const WrittenRows written = read_rows(rows);
  Index index;
  for (const std::string& label : written.labels) {
    index.emplace(label, static_cast<int>(index.size()));
  }
  if (index.size() < written.labels.size()) rows.refuse("two columns p_LABEL have the same name");
  LabelledRows labelled = label_rows(file, written, index);
  LossSum losses(labelled.several);
  for (std::size_t i = 0; i < written.answers.size(); ++i) {
    if (labelled.counts(i)) losses.add(labelled.loss_of(i, kLeastShare));
  }
  const RowScorer scorer(std::move(labelled), losses);
  if (!scorer.known()) return ScoredFile();
  const ErrorRows errors = scorer.errors(file.name, kLeastShare, [&](std::size_t i) {
    return ErrorRow{.text = file.text_of(written.sample_ids[i], written.text_ids[i]),
                    .text_id = written.text_ids[i],
                    .sample_id = written.sample_ids[i]};
  });
  return ScoredFile{scorer.summary(), scorer.lines(file.name), error_lines(errors),
                    scorer.sections(file.name, errors)};
}

}  // namespace bp::trainer
