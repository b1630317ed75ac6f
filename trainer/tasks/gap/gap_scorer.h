// Scores a model for GAP on a split as GAP's own scorer and Kaggle's competition do.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trainer/report/error_rows.h"
#include "trainer/tasks/gap/gap_predictor.h"
#include "trainer/tasks/gap/gap_scores.h"
#include "trainer/tasks/task.h"

namespace bp::trainer {

class GapScorer : public Scorer {
 public:
  GapScorer(const SampleStore& store, Split split) : store_(store), split_(split) {}

  // outputs: logits, [rows, 3].
  void add(const Batch& block, const at::Tensor& outputs) override;
  [[nodiscard]] std::span<std::int64_t> counts() override { return tally_.values(); }
  [[nodiscard]] const Predictor& predictor() const override { return predictor_; }

  [[nodiscard]] EvaluationSummary summary() const override;
  [[nodiscard]] std::vector<std::string> lines(const std::string& name,
                                               const std::string& predictions) const override;
  [[nodiscard]] std::string sections() const override;
  // Kaggle's file also without true answers, which the competition does not give.
  [[nodiscard]] std::vector<ResultFile> files() const override;

 private:
  // The samples with the highest loss.
  [[nodiscard]] ErrorRows worst_rows() const;

  const SampleStore& store_;
  Split split_;
  GapPredictor predictor_;
  GapTally tally_;
};

}  // namespace bp::trainer
