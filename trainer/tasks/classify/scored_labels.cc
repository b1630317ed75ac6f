#include "trainer/tasks/classify/scored_labels.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "trainer/data/input_error.h"
#include "trainer/report/csv_rows.h"
#include "trainer/report/error_rows.h"
#include "trainer/report/setting.h"
#include "trainer/report/shown_text.h"
#include "trainer/tasks/classify/analysis.h"
#include "trainer/tasks/classify/label_scores.h"
#include "trainer/tasks/classify/label_sections.h"
#include "trainer/tasks/classify/label_separators.h"
#include "trainer/tasks/classify/predicted_rows.h"
#include "trainer/tasks/classify/probability_scores.h"
#include "trainer/tasks/classify/scores.h"
#include "trainer/tasks/classify/sections.h"
#include "trainer/tasks/classify/tables.h"

namespace bp::trainer {
namespace {

// A probability that is written as 0.000000 is below this.
constexpr double kLeastShare = 5e-7;

double loss_of_share(float share) { return -std::log(std::max(double{share}, kLeastShare)); }

using Index = std::unordered_map<std::string, int>;

Index index_of(const std::vector<std::string>& labels) {
  Index index;
  for (const std::string& label : labels) index.emplace(label, static_cast<int>(index.size()));
  return index;
}

int class_in(const Index& index, const std::string& label) {
  const auto found = index.find(label);
  return found == index.end() ? -1 : found->second;
}

// Returns whether each row has one label of the model at most, and one prediction.
bool has_single_labels(const PredictedRows& rows, const Index& index) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows.answers[i].empty() && class_in(index, rows.answers[i]) < 0) return false;
    if (class_in(index, rows.predictions[i]) < 0) return false;
  }
  return true;
}

ScoredFile score_classes(const FileToScore& file, const PredictedRows& rows, const Index& index) {
  const std::size_t classes = rows.labels.size();
  ClassProbabilities given{.shares = rows.shares, .classes = classes};
  ClassDetail detail{
      .split = file.name, .labels = rows.labels, .tally = Tally(static_cast<int>(classes))};
  WorstRows worst;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const int label = class_in(index, rows.answers[i]);
    const int prediction = class_in(index, rows.predictions[i]);
    given.labels.push_back(label);
    if (label < 0) continue;
    const float share = given.of(i)[static_cast<std::size_t>(label)];
    detail.tally.add({label, prediction, loss_of_share(share)});
    worst.add({rows.sample_ids[i], rows.text_ids[i], label, prediction,
               std::max(double{share}, kLeastShare)});
  }
  const Scores scores = scores_of(detail.tally);
  const ProbabilityScores probabilities = probability_scores(given);
  if (scores.samples == 0) return {};
  for (WorstRow& row : worst.rows()) row.text = file.text_of(row.sample_id, row.text_id);
  detail.worst = worst.rows();
  return {summary_of(scores, probabilities),
          {score_line(file.name, scores), probability_line(scores, probabilities),
           confusion_table(detail.tally, rows.labels), classification_table(scores, rows.labels)},
          error_lines(error_rows(detail)),
          class_sections(detail) + analysis_sections({file.name, rows.labels, given})};
}

// Sets the labels that are in `field`. Returns false if a part of it is no label.
bool split_labels(const std::string& field,
                  char separator,
                  const Index& index,
                  std::vector<bool>& has) {
  has.assign(index.size(), false);
  for (std::size_t begin = 0; begin < field.size();) {
    const std::size_t end = std::min(field.find(separator, begin), field.size());
    const int label = class_in(index, field.substr(begin, end - begin));
    if (label < 0) return false;
    has[static_cast<std::size_t>(label)] = true;
    begin = end + 1;
  }
  return true;
}

// Returns the separator with which all labels of the rows are those of the model.
std::optional<char> separator_of(const PredictedRows& rows, const Index& index) {
  std::vector<bool> has;
  for (const auto& known : label_separators()) {
    const char separator = known.second;
    const auto fits = [&](const std::string& field) {
      return split_labels(field, separator, index, has);
    };
    if (std::ranges::all_of(rows.answers, fits) && std::ranges::all_of(rows.predictions, fits)) {
      return separator;
    }
  }
  return std::nullopt;
}

ScoredFile score_sets(const FileToScore& file, const PredictedRows& rows, const Index& index) {
  const std::optional<char> separator = separator_of(rows, index);
  if (!separator) {
    throw InputError(65, concat(file.path, " has labels that are none of its columns p_LABEL"),
                     "report reads the predictions that bert_train wrote as CSV");
  }
  const std::size_t labels = rows.labels.size();
  LabelTally tally(labels);
  std::vector<bool> answers;
  std::vector<bool> predictions;
  std::vector<WorstLabelRow> worst;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    (void)split_labels(rows.answers[i], *separator, index, answers);
    (void)split_labels(rows.predictions[i], *separator, index, predictions);
    double loss = 0;
    for (std::size_t k = 0; k < labels; ++k) {
      const float share = rows.shares[i * labels + k];
      loss += loss_of_share(answers[k] ? share : 1 - share);
    }
    loss /= static_cast<double>(labels);
    tally.add({answers, predictions, loss});
    keep_worst(worst, {.sample_id = rows.sample_ids[i],
                       .text_id = rows.text_ids[i],
                       .loss = loss,
                       .answers = rows.answers[i],
                       .predictions = rows.predictions[i]});
  }
  const LabelScores scores = scores_of(tally);
  if (scores.labelled == 0) return {};
  for (WorstLabelRow& row : worst) row.text = file.text_of(row.sample_id, row.text_id);
  const LabelDetail detail{file.name, rows.labels, scores, std::move(worst)};
  return {summary_of(scores),
          {score_line(file.name, scores), classification_table(scores, rows.labels)},
          error_lines(error_rows(detail)),
          label_sections(detail)};
}

bool has_labels(const std::vector<std::string>& header) {
  return column_of(header, "label") < header.size() && !header.empty() &&
         header.back().starts_with("p_");
}

}  // namespace

std::optional<ScoredFile> score_labels(const FileToScore& file, CsvRows& rows) {
  if (!has_labels(rows.fields())) return std::nullopt;
  const PredictedRows read = read_predicted_rows(rows);
  const Index index = index_of(read.labels);
  if (index.size() < read.labels.size()) rows.refuse("two columns p_LABEL have the same name");
  const bool several = value_of(file.settings, "multi-label") == "true" || index.size() == 1;
  if (!several && has_single_labels(read, index)) return score_classes(file, read, index);
  return score_sets(file, read, index);
}

}  // namespace bp::trainer
