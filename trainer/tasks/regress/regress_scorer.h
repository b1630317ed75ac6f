// Scores predicted numbers on a split.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trainer/tasks/regress/regress_scores.h"
#include "trainer/tasks/task.h"

namespace bp::trainer {

class RegressPredictor : public Predictor {
 public:
  [[nodiscard]] std::vector<PredictionColumn> columns() const override;
  // outputs: the numbers, [rows, 1]. Keeps them.
  void keep(const Batch& block, const at::Tensor& outputs, std::vector<float>& kept) const override;
  [[nodiscard]] std::size_t kept_of(const Sample& /*sample*/) const override { return 1; }
  void set_fields(const Sample& sample,
                  std::span<const float> kept,
                  std::vector<std::string>& fields) const override;
};

class RegressScorer : public Scorer {
 public:
  RegressScorer(const SampleStore& store, Split split) : store_(store), split_(split) {}

  void add(const Batch& block, const at::Tensor& outputs) override;
  [[nodiscard]] std::span<std::int64_t> counts() override { return tally_.values(); }
  [[nodiscard]] const Predictor& predictor() const override { return predictor_; }

  // loss (the mean squared error), mae, pearson, spearman.
  [[nodiscard]] EvaluationSummary summary() const override;
  [[nodiscard]] std::vector<std::string> lines(const std::string& name,
                                               const std::string& predictions) const override;
  [[nodiscard]] std::string sections() const override;
  [[nodiscard]] std::vector<ResultFile> files() const override { return {}; }

 private:
  // The samples that have a target, in the store's order.
  [[nodiscard]] std::vector<ScoredNumber> scored() const;
  [[nodiscard]] RegressScores scores() const;

  const SampleStore& store_;
  Split split_;
  RegressPredictor predictor_;
  RegressTally tally_;
};

}  // namespace bp::trainer
