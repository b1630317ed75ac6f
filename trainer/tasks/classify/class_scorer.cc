#include "trainer/tasks/classify/class_scorer.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "base/text.h"
#include "trainer/data/numbers.h"
#include "trainer/report/predictions.h"
#include "trainer/report/shown_text.h"
#include "trainer/tasks/classify/class_input.h"
#include "trainer/tasks/classify/confusions.h"
#include "trainer/tasks/classify/scores.h"
#include "trainer/tasks/classify/sections.h"
#include "trainer/tasks/classify/tables.h"

namespace bp::trainer {
namespace {

// The sum of exp(logit - highest), in double.
double sum_of_exponentials(std::span<const float> logits, float highest) {
  double sum = 0;
  for (const float logit : logits) sum += std::exp(double{logit} - highest);
  return sum;
}

int most_probable(std::span<const float> probabilities) {
  return static_cast<int>(std::ranges::max_element(probabilities) - probabilities.begin());
}

}  // namespace

ClassScorer::ClassScorer(const SampleStore& store,
                         Split split,
                         std::vector<std::string> labels,
                         std::vector<int> label_map)
    : store_(store),
      split_(split),
      labels_(std::move(labels)),
      label_map_(std::move(label_map)),
      tally_(static_cast<int>(labels_.size())) {}

int ClassScorer::class_of(std::int64_t label) const {
  return label < 0 ? -1 : label_map_[static_cast<std::size_t>(label)];
}

void ClassScorer::add(const Batch& block, const at::Tensor& outputs) {
  const std::size_t classes = labels_.size();
  const auto* logits = outputs.const_data_ptr<float>();
  const std::vector<std::int64_t>& labels = block.arrays[kLabelArray].integers;
  for (std::size_t row = 0; row < labels.size(); ++row) {
    const std::span own(logits + row * classes, classes);
    const float highest = *std::ranges::max_element(own);
    const double sum = sum_of_exponentials(own, highest);
    for (const float logit : own) {
      probabilities_.push_back(static_cast<float>(std::exp(double{logit} - highest) / sum));
    }
    const int label = class_of(labels[row]);
    if (label < 0) continue;
    const double loss = std::log(sum) - (double{own[static_cast<std::size_t>(label)]} - highest);
    tally_.add({label, most_probable(std::span(probabilities_).last(classes)), loss});
  }
}

EvaluationSummary ClassScorer::summary() const { return summary_of(scores_of(tally_)); }

void ClassScorer::for_each(const std::function<void(const Scored&)>& body) const {
  const std::size_t classes = labels_.size();
  for (std::int64_t i = 0; i < store_.size(split_); ++i) {
    const Sample sample = store_.load(split_, i);
    const auto own =
        std::span(probabilities_).subspan(static_cast<std::size_t>(i) * classes, classes);
    body({sample, class_of(sample.arrays[kLabelArray].integers.front()), most_probable(own), own});
  }
}

void ClassScorer::write_predictions(const std::string& path) const {
  std::vector<std::string> columns = {"label", "prediction"};
  for (const std::string& label : labels_) columns.push_back("p_" + label);
  PredictionsWriter writer(path, columns);
  std::vector<std::string> fields;
  for_each([&](const Scored& scored) {
    fields.assign(1, scored.label < 0 ? "" : labels_[static_cast<std::size_t>(scored.label)]);
    fields.push_back(labels_[static_cast<std::size_t>(scored.prediction)]);
    for (const float share : scored.probabilities) {
      fields.push_back(probability_text(double{share}));
    }
    writer.add({scored.sample.sample_id, scored.sample.text_id, fields});
  });
  writer.finish();
}

std::vector<WorstRow> ClassScorer::worst_rows() const {
  WorstRows worst;
  for_each([&](const Scored& scored) {
    if (scored.label < 0) return;
    worst.add({scored.sample.sample_id, scored.sample.text_id, scored.label, scored.prediction,
               double{scored.probabilities[static_cast<std::size_t>(scored.label)]}});
  });
  for (WorstRow& row : worst.rows()) row.text = store_.text(row.text_id, split_);
  return worst.rows();
}

std::vector<std::string> ClassScorer::lines(const std::string& name,
                                            const std::string& predictions) const {
  const Scores scores = scores_of(tally_);
  if (scores.samples == 0) {
    return {concat(name, ": no labels to compare with, ", with_commas(store_.size(split_)),
                   " samples",
                   predictions.empty() ? "; --out FILE writes the predictions"
                                       : "; predictions in " + predictions)};
  }
  return {concat(name, ": accuracy ", fixed(scores.accuracy, 4), ", F1 ", fixed(scores.macro.f1, 4),
                 " (mean of classes), loss ", fixed(scores.loss, 4), ", ",
                 with_commas(scores.samples), " samples"),
          confusion_table(tally_, labels_), classification_table(scores, labels_)};
}

std::string ClassScorer::sections() const {
  if (tally_.samples() == 0) return "";
  return class_sections({name_of(split_), labels_, tally_, worst_rows()});
}

// The terminal and the report show these only for few labels.
std::vector<ResultFile> ClassScorer::files() const {
  if (tally_.samples() == 0) return {};
  const bool many = labels_.size() > kMostInMatrix;
  return {{"classes.csv", classes_csv(tally_, labels_), many},
          {"confusion.csv", confusion_csv(tally_, labels_), many}};
}

}  // namespace bp::trainer
