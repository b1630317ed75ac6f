// Scores a masked language model on a split.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trainer/tasks/pretrain/masked_scores.h"
#include "trainer/tasks/scorer.h"

namespace bp::trainer {

// A sample's row says how many of its tokens were masked, how many the model guessed, and the mean
// loss of these tokens, which is empty if there are none. For pairs it also says whether the second
// segment follows the first, and whether the model says so.
class MaskedScorer : public Scorer {
 public:
  // `samples`: of the split. `pairs`: the model predicts next sentences, too.
  explicit MaskedScorer(std::int64_t samples, bool pairs = false)
      : samples_(samples), pairs_(pairs) {}

  [[nodiscard]] std::vector<PredictionColumn> columns() const override;
  // outputs: see pretrain_head.h. Keeps these numbers of each sample.
  void keep(const Batch& block, const at::Tensor& outputs, std::vector<float>& kept) const override;
  [[nodiscard]] std::size_t kept_of(const Sample& /*sample*/) const override {
    return pairs_ ? 5 : 3;
  }
  void set_fields(const Sample& sample,
                  std::span<const float> kept,
                  std::vector<std::string>& fields) const override;

  [[nodiscard]] std::span<std::int64_t> counts() override { return tally_.values(); }
  // loss, perplexity, accuracy; of pairs next_sentence_loss and next_sentence_accuracy.
  [[nodiscard]] EvaluationSummary summary() const override;
  [[nodiscard]] std::vector<std::string> lines(const std::string& name,
                                               const std::string& predictions) const override;

 private:
  void count(const Batch& block, const at::Tensor& outputs, std::span<const float> kept) override;

  std::int64_t samples_;
  bool pairs_;
  MaskedTally tally_;
};

}  // namespace bp::trainer
