// The predictions of a model for GAP: the probabilities of neither, A and B. Scores them on a split
// as GAP's own scorer and Kaggle's competition do.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trainer/report/error_rows.h"
#include "trainer/tasks/gap/gap_scores.h"
#include "trainer/tasks/scorer.h"

namespace bp::trainer {

class GapScorer : public Scorer {
 public:
  using Scorer::Scorer;

  // The row's ID, its answer and the model's, and the probabilities p_A, p_B and p_NEITHER.
  [[nodiscard]] std::vector<PredictionColumn> columns() const override;
  // outputs: logits, [rows, 3]. Keeps the probabilities, in the order of the outputs.
  void keep(const Batch& block, const at::Tensor& outputs, std::vector<float>& kept) const override;
  [[nodiscard]] std::size_t kept_of(const Sample& /*sample*/) const override { return 3; }
  void set_fields(const Sample& sample,
                  std::span<const float> kept,
                  std::vector<std::string>& fields) const override;
  // Kaggle's.
  [[nodiscard]] std::string competition_line(const Sample& sample,
                                             std::span<const float> kept) const override;
  [[nodiscard]] std::string competition_header() const override { return kaggle_header(); }

  [[nodiscard]] std::span<std::int64_t> counts() override { return tally_.values(); }
  [[nodiscard]] EvaluationSummary summary() const override;
  [[nodiscard]] std::vector<std::string> lines(const std::string& name,
                                               const std::string& predictions) const override;
  [[nodiscard]] Sections sections() const override;
  // Kaggle's file also without true answers, which the competition does not give.
  [[nodiscard]] std::vector<ResultFile> files() const override;

 private:
  void count(const Batch& block, const at::Tensor& outputs, std::span<const float> kept) override;
  // The samples with the highest loss.
  [[nodiscard]] ErrorRows worst_rows() const;

  GapTally tally_;
};

}  // namespace bp::trainer
