// Scores a model that tags words on a split: the entities that it finds, of whole sentences.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trainer/tasks/exact_sum.h"
#include "trainer/tasks/task.h"
#include "trainer/tasks/tokens/entities.h"
#include "trainer/tasks/tokens/token_predictor.h"

namespace bp::trainer {

class TokenScorer : public Scorer {
 public:
  TokenScorer(const SampleStore& store, Split split, TokenPredictor predictor);

  // outputs: logits, [tokens, tags].
  void add(const Batch& block, const at::Tensor& outputs) override;
  [[nodiscard]] std::span<std::int64_t> counts() override { return losses_; }
  [[nodiscard]] const Predictor& predictor() const override { return predictor_; }

  [[nodiscard]] EvaluationSummary summary() const override;
  [[nodiscard]] std::vector<std::string> lines(const std::string& name,
                                               const std::string& predictions) const override;
  [[nodiscard]] std::string sections() const override;
  [[nodiscard]] std::vector<ResultFile> files() const override;

 private:
  // Counts from the words of all ranks, because one rank may have only a part of a sentence.
  [[nodiscard]] EntityTally tally() const;
  [[nodiscard]] double loss() const;

  const SampleStore& store_;
  Split split_;
  TokenPredictor predictor_;
  EntityTags tags_;
  std::vector<std::int64_t> losses_;  // the digits of an ExactSum, and the number of terms
};

}  // namespace bp::trainer
