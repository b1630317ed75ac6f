#include "trainer/tasks/classify/class_scorer.h"

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <utility>

#include "base/text.h"
#include "trainer/data/numbers.h"
#include "trainer/report/shown_text.h"
#include "trainer/tasks/classify/class_input.h"
#include "trainer/tasks/classify/confusions.h"
#include "trainer/tasks/classify/scores.h"
#include "trainer/tasks/classify/sections.h"
#include "trainer/tasks/classify/tables.h"
#include "trainer/tasks/softmax.h"
#include "trainer/tasks/unscored_line.h"

namespace bp::trainer {

ClassScorer::ClassScorer(const SampleStore& store, Split split, ClassPredictor predictor)
    : store_(store),
      split_(split),
      predictor_(std::move(predictor)),
      tally_(static_cast<int>(predictor_.labels().size())) {}

void ClassScorer::add(const Batch& block, const at::Tensor& outputs) {
  const std::size_t classes = labels().size();
  const std::size_t before = kept().size();
  predictor_.keep(block, outputs, kept());
  const auto* logits = outputs.const_data_ptr<float>();
  const std::vector<std::int64_t>& true_labels = block.arrays[kLabelArray].integers;
  for (std::size_t row = 0; row < true_labels.size(); ++row) {
    const int label = predictor_.class_of(true_labels[row]);
    if (label < 0) continue;
    const double loss =
        cross_entropy(std::span(logits + row * classes, classes), static_cast<std::size_t>(label));
    const auto shares = std::span(kept()).subspan(before + row * classes, classes);
    tally_.add({label, most_probable(shares), loss});
  }
}

EvaluationSummary ClassScorer::summary() const {
  return summary_of(scores_of(tally_), probability_scores(probabilities()));
}

ClassProbabilities ClassScorer::probabilities() const {
  ClassProbabilities given{.shares = kept(), .classes = labels().size()};
  const std::vector<std::int64_t> stored = store_.integers(split_, kLabelArray);
  for (const std::int64_t label : stored) given.labels.push_back(predictor_.class_of(label));
  return given;
}

void ClassScorer::for_each(const std::function<void(const Scored&)>& body) const {
  const std::size_t classes = labels().size();
  for (std::int64_t i = 0; i < store_.size(split_); ++i) {
    const Sample sample = store_.load(split_, i);
    const auto own = std::span(kept()).subspan(static_cast<std::size_t>(i) * classes, classes);
    body({sample, predictor_.class_of(sample.arrays[kLabelArray].integers.front()),
          most_probable(own), own});
  }
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
    return {unscored_line({name, "labels", store_.size(split_), predictions})};
  }
  return {score_line(name, scores), probability_line(scores, probability_scores(probabilities())),
          confusion_table(tally_, labels()), classification_table(scores, labels())};
}

std::string ClassScorer::sections() const {
  if (tally_.samples() == 0) return "";
  const AnalysedSplit analysed{name_of(split_), labels(), probabilities(), store_.lengths(split_)};
  return concat(class_sections({name_of(split_), labels(), tally_, worst_rows()}),
                analysis_sections(analysed), label_counts_section(labels(), label_counts()));
}

std::vector<LabelCounts> ClassScorer::label_counts() const {
  std::vector<LabelCounts> splits;
  for (const Split split : {Split::train, Split::dev, Split::test}) {
    LabelCounts counted{.split = name_of(split), .counts = {}};
    counted.counts.resize(labels().size());
    const std::vector<std::int64_t> stored = store_.integers(split, kLabelArray);
    for (const std::int64_t label : stored) {
      const int own = predictor_.class_of(label);
      if (own >= 0) ++counted.counts[static_cast<std::size_t>(own)];
    }
    if (!stored.empty()) splits.push_back(std::move(counted));
  }
  return splits;
}

std::vector<PrCurve> ClassScorer::pr_curves() const {
  if (tally_.samples() == 0 || labels().size() > kMostInMatrix) return {};
  const ClassProbabilities given = probabilities();
  std::vector<PrCurve> curves;
  for (std::size_t k = 0; k < labels().size(); ++k) {
    curves.push_back(pr_curve(given, k));
    curves.back().name = labels()[k];
  }
  return curves;
}

// The terminal and the report show these only for few labels.
std::vector<ResultFile> ClassScorer::files() const {
  if (tally_.samples() == 0) return {};
  const bool many = labels().size() > kMostInMatrix;
  return {{"classes.csv", classes_csv(scores_of(tally_).classes, labels()), many},
          {"confusion.csv", confusion_csv(tally_, labels()), many}};
}

}  // namespace bp::trainer
