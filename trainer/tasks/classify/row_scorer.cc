#include "trainer/tasks/classify/row_scorer.h"

#include <algorithm>
#include <utility>

#include "base/report/escape.h"
#include "base/text.h"
#include "trainer/tasks/classify/analysis.h"
#include "trainer/tasks/classify/confusions.h"
#include "trainer/tasks/classify/sections.h"
#include "trainer/tasks/classify/tables.h"

namespace bp::trainer {

RowScorer::RowScorer(LabelledRows rows, const LossSum& losses)
    : rows_(std::move(rows)), scores_(scores_of(rows_, losses)) {}

EvaluationSummary RowScorer::summary() const {
  if (rows_.several) return summary_of(scores_);
  return summary_of(scores_, probability_scores(rows_.probabilities()));
}

std::vector<std::string> RowScorer::lines(const std::string& name) const {
  std::vector<std::string> lines = {score_line(name, scores_)};
  if (!rows_.several) {
    lines.push_back(probability_line(scores_, probability_scores(rows_.probabilities())));
    lines.push_back(confusion_table(Tally(rows_), rows_.labels));
  }
  lines.push_back(classification_table(scores_, rows_.labels));
  return lines;
}

ErrorRows RowScorer::errors(const std::string& name,
                            double least,
                            const std::function<ErrorRow(std::size_t row)>& identify) const {
  using RowLoss = std::pair<std::size_t, double>;
  std::vector<RowLoss> losses;
  for (std::size_t row = 0; row < rows_.answers.size(); ++row) {
    if (rows_.counts(row)) losses.emplace_back(row, rows_.loss_of(row, least));
  }
  ErrorRows errors{.split = name, .order = "the highest loss"};
  for (const auto& [row, loss] : worst_of(std::move(losses), &RowLoss::second)) {
    errors.rows.push_back(identify(row));
    ErrorRow& shown = errors.rows.back();
    const std::span<const int> answers = rows_.answers.of(row);
    shown.answer = rows_.names(answers);
    shown.prediction = rows_.names(rows_.predictions.of(row));
    if (!rows_.several) {
      const float share = rows_.shares_of(row)[static_cast<std::size_t>(answers.front())];
      shown.facts =
          concat("probability of the true label ", brief(std::max(double{share}, least)), ", ");
    }
    shown.facts += concat("loss ", fixed(loss, 2));
  }
  return errors;
}

Sections RowScorer::sections(const std::string& name, const ErrorRows& errors) const {
  const ClassDetail detail{name, rows_.labels, scores_, errors};
  if (rows_.several) return class_sections(detail, nullptr);
  const Tally tally(rows_);
  return joined({class_sections(detail, &tally),
                 analysis_sections({name, rows_.labels, rows_.probabilities(), rows_.lengths})});
}

std::string RowScorer::classes_file() const { return classes_csv(scores_.classes, rows_.labels); }

std::string RowScorer::confusion_file() const { return confusion_csv(Tally(rows_), rows_.labels); }

std::vector<PrCurve> RowScorer::pr_curves() const {
  if (rows_.several || rows_.labels.size() > kMostInMatrix) return {};
  const ClassProbabilities given = rows_.probabilities();
  std::vector<PrCurve> curves;
  for (std::size_t k = 0; k < rows_.labels.size(); ++k) {
    curves.push_back(pr_curve(given, k));
    curves.back().name = rows_.labels[k];
  }
  return curves;
}

}  // namespace bp::trainer
