// Scores a masked language model on a split.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trainer/tasks/pretrain/masked_scores.h"
#include "trainer/tasks/task.h"

namespace bp::trainer {

// A sample's row says how many of its tokens were masked, how many the model guessed, and the mean
// loss of these tokens, which is empty if there are none.
class MaskedPredictor : public Predictor {
 public:
  [[nodiscard]] std::vector<PredictionColumn> columns() const override;
  // outputs: see pretrain_head.h. Keeps these three numbers of each sample.
  void keep(const Batch& block, const at::Tensor& outputs, std::vector<float>& kept) const override;
  [[nodiscard]] std::size_t kept_of(const Sample& /*sample*/) const override { return 3; }
  void set_fields(const Sample& sample,
                  std::span<const float> kept,
                  std::vector<std::string>& fields) const override;
};

class MaskedScorer : public Scorer {
 public:
  explicit MaskedScorer(std::int64_t samples) : samples_(samples) {}

  void add(const Batch& block, const at::Tensor& outputs) override;
  [[nodiscard]] std::span<std::int64_t> counts() override { return tally_.values(); }
  [[nodiscard]] const Predictor& predictor() const override { return predictor_; }

  // loss, perplexity, accuracy.
  [[nodiscard]] EvaluationSummary summary() const override;
  [[nodiscard]] std::vector<std::string> lines(const std::string& name,
                                               const std::string& predictions) const override;
  [[nodiscard]] std::string sections() const override { return ""; }
  [[nodiscard]] std::vector<ResultFile> files() const override { return {}; }

 private:
  std::int64_t samples_;
  MaskedPredictor predictor_;
  MaskedTally tally_;
};

}  // namespace bp::trainer
