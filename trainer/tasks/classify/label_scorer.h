// Scores a classifier that gives a sample any number of labels on a split.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trainer/tasks/classify/label_predictor.h"
#include "trainer/tasks/classify/label_sections.h"
#include "trainer/tasks/classify/label_tally.h"
#include "trainer/tasks/task.h"

namespace bp::trainer {

class LabelScorer : public Scorer {
 public:
  LabelScorer(const SampleStore& store, Split split, LabelPredictor predictor);

  // outputs: logits, [rows, labels].
  void add(const Batch& block, const at::Tensor& outputs) override;
  [[nodiscard]] std::span<std::int64_t> counts() override { return tally_.values(); }
  [[nodiscard]] const Predictor& predictor() const override { return predictor_; }

  [[nodiscard]] EvaluationSummary summary() const override;
  [[nodiscard]] std::vector<std::string> lines(const std::string& name,
                                               const std::string& predictions) const override;
  [[nodiscard]] std::string sections() const override;
  [[nodiscard]] std::vector<ResultFile> files() const override;

 private:
  [[nodiscard]] std::vector<WorstLabelRow> worst_rows() const;

  const SampleStore& store_;
  Split split_;
  LabelPredictor predictor_;
  LabelTally tally_;
};

}  // namespace bp::trainer
