#include "trainer/tasks/classify/label_scorer.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "base/text.h"
#include "trainer/data/numbers.h"
#include "trainer/report/shown_text.h"
#include "trainer/tasks/classify/class_input.h"
#include "trainer/tasks/classify/confusions.h"
#include "trainer/tasks/classify/label_scores.h"
#include "trainer/tasks/classify/tables.h"
#include "trainer/tasks/unscored_line.h"

namespace bp::trainer {
namespace {

// Returns -log of the probability of the answer: log(1 + e^-x) for yes and log(1 + e^x) for no.
double answer_loss(double logit, bool answer) {
  const double x = answer ? -logit : logit;
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

}  // namespace

LabelScorer::LabelScorer(const SampleStore& store, Split split, LabelPredictor predictor)
    : store_(store),
      split_(split),
      predictor_(std::move(predictor)),
      tally_(predictor_.labels().size()) {}

void LabelScorer::add(const Batch& block, const at::Tensor& outputs) {
  const std::size_t labels = predictor_.labels().size();
  const std::size_t before = kept().size();
  predictor_.keep(block, outputs, kept());
  const BatchArray& array = block.arrays[kLabelArray];
  const auto* logits = outputs.const_data_ptr<float>();
  for (std::size_t row = 0; row < array.sizes.size(); ++row) {
    const auto own = std::span(array.integers)
                         .subspan(row * static_cast<std::size_t>(array.width),
                                  static_cast<std::size_t>(array.sizes[row]));
    const std::vector<bool> answers = predictor_.answers(own);
    double loss = 0;
    for (std::size_t i = 0; i < labels; ++i) loss += answer_loss(double{*logits++}, answers[i]);
    const auto shares = std::span(kept()).subspan(before + row * labels, labels);
    tally_.add({answers, predictor_.predictions(shares), loss / static_cast<double>(labels)});
  }
}

EvaluationSummary LabelScorer::summary() const { return summary_of(scores_of(tally_)); }

std::vector<std::string> LabelScorer::lines(const std::string& name,
                                            const std::string& predictions) const {
  const LabelScores scores = scores_of(tally_);
  if (scores.labelled == 0) {
    return {unscored_line({name, "labels", store_.size(split_), predictions})};
  }
  return {score_line(name, scores), classification_table(scores, predictor_.labels())};
}

// Those with the highest loss; of equal ones, the first.
std::vector<WorstLabelRow> LabelScorer::worst_rows() const {
  const std::size_t labels = predictor_.labels().size();
  std::vector<WorstLabelRow> worst;
  for (std::int64_t i = 0; i < store_.size(split_); ++i) {
    const Sample sample = store_.load(split_, i);
    const auto shares = std::span(kept()).subspan(static_cast<std::size_t>(i) * labels, labels);
    const std::vector<bool> answers = predictor_.answers(sample.arrays[kLabelArray].integers);
    double loss = 0;
    for (std::size_t k = 0; k < labels; ++k) {
      loss -= std::log(answers[k] ? double{shares[k]} : 1 - double{shares[k]});
    }
    keep_worst(worst, {.sample_id = sample.sample_id,
                       .text_id = sample.text_id,
                       .loss = loss / static_cast<double>(labels),
                       .answers = predictor_.names(answers),
                       .predictions = predictor_.names(predictor_.predictions(shares))});
  }
  for (WorstLabelRow& row : worst) row.text = store_.text(row.text_id, split_);
  return worst;
}

std::string LabelScorer::sections() const {
  const LabelScores scores = scores_of(tally_);
  if (scores.labelled == 0) return "";
  return label_sections({name_of(split_), predictor_.labels(), scores, worst_rows()});
}

std::vector<ResultFile> LabelScorer::files() const {
  const LabelScores scores = scores_of(tally_);
  if (scores.labelled == 0) return {};
  const bool many = predictor_.labels().size() > kMostInMatrix;
  return {{"classes.csv", classes_csv(scores.labels, predictor_.labels()), many}};
}

}  // namespace bp::trainer
