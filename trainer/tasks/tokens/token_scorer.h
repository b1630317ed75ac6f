// Scores a model that tags words on a split: the entities that it finds, of whole sentences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "trainer/report/error_rows.h"
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
  // The words of one sentence, which may be in several samples.
  struct Sentence {
    std::int64_t text_id = 0;
    std::int64_t sample_id = 0;    // its first sample
    std::vector<int> labels = {};  // empty if they are unknown
    std::vector<int> predictions = {};
    [[nodiscard]] std::vector<std::size_t> wrong() const;  // places of words
  };
  // Calls `body` for each sentence whose tags are known, with the words of all ranks, because one
  // rank may have only a part of a sentence.
  void for_each(const std::function<void(const Sentence&)>& body) const;
  [[nodiscard]] EntityTally tally() const;
  // The sentences with the most wrong words.
  [[nodiscard]] ErrorRows worst_sentences() const;
  [[nodiscard]] ErrorRow row_of(const Sentence& sentence) const;
  [[nodiscard]] double loss() const;

  const SampleStore& store_;
  Split split_;
  TokenPredictor predictor_;
  EntityTags tags_;
  std::vector<std::int64_t> losses_;  // the digits of an ExactSum, and the number of terms
};

}  // namespace bp::trainer
