// Scores predicted numbers on a split.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trainer/tasks/regress/regress_scores.h"
#include "trainer/tasks/scorer.h"

namespace bp::trainer {

class RegressScorer : public Scorer {
 public:
  using Scorer::Scorer;

  [[nodiscard]] std::vector<PredictionColumn> columns() const override;
  // outputs: the numbers, [rows, 1]. Keeps them.
  void keep(const Batch& block, const at::Tensor& outputs, std::vector<float>& kept) const override;
  [[nodiscard]] std::size_t kept_of(const Sample& /*sample*/) const override { return 1; }
  void set_fields(const Sample& sample,
                  std::span<const float> kept,
                  std::vector<std::string>& fields) const override;

  [[nodiscard]] std::span<std::int64_t> counts() override { return tally_.values(); }
  // loss (the mean squared error), mae, pearson, spearman.
  [[nodiscard]] EvaluationSummary summary() const override;
  [[nodiscard]] std::vector<std::string> lines(const std::string& name,
                                               const std::string& predictions) const override;
  [[nodiscard]] Sections sections() const override;

 private:
  void count(const Batch& block, const at::Tensor& outputs, std::span<const float> kept) override;
  // The samples that have a target, in the store's order.
  [[nodiscard]] std::vector<ScoredNumber> scored() const;
  [[nodiscard]] RegressScores scores() const;

  RegressTally tally_;
};

}  // namespace bp::trainer
