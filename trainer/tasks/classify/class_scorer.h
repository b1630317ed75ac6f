// Scores a classifier on a split: probabilities of each sample, a confusion matrix, and what is
// shown of them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "trainer/tasks/classify/analysis.h"
#include "trainer/tasks/classify/class_predictor.h"
#include "trainer/tasks/classify/probability_scores.h"
#include "trainer/tasks/classify/tally.h"
#include "trainer/tasks/classify/worst_rows.h"
#include "trainer/tasks/task.h"

namespace bp::trainer {

class ClassScorer : public Scorer {
 public:
  ClassScorer(const SampleStore& store, Split split, ClassPredictor predictor);

  // outputs: logits, [rows, labels].
  void add(const Batch& block, const at::Tensor& outputs) override;
  [[nodiscard]] std::span<std::int64_t> counts() override { return tally_.values(); }
  [[nodiscard]] const Predictor& predictor() const override { return predictor_; }

  [[nodiscard]] EvaluationSummary summary() const override;
  [[nodiscard]] std::vector<std::string> lines(const std::string& name,
                                               const std::string& predictions) const override;
  [[nodiscard]] std::string sections() const override;
  [[nodiscard]] std::vector<ResultFile> files() const override;
  [[nodiscard]] std::vector<PrCurve> pr_curves() const override;

  [[nodiscard]] const Tally& tally() const { return tally_; }
  [[nodiscard]] std::vector<WorstRow> worst_rows() const;

 private:
  struct Scored {
    const Sample& sample;
    int label = -1;  // the true class; -1: the sample has none
    int prediction = 0;
    std::span<const float> probabilities;
  };
  [[nodiscard]] std::vector<LabelCounts> label_counts() const;
  [[nodiscard]] ClassProbabilities probabilities() const;  // in the store's order
  // In the store's order.
  void for_each(const std::function<void(const Scored&)>& body) const;
  [[nodiscard]] const std::vector<std::string>& labels() const { return predictor_.labels(); }

  const SampleStore& store_;
  Split split_;
  ClassPredictor predictor_;
  Tally tally_;
};

}  // namespace bp::trainer
