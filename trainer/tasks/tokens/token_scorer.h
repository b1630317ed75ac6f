// The predictions of a model that tags words, and their scores on a split: the entities that it
// finds, of whole sentences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "trainer/report/error_rows.h"
#include "trainer/tasks/exact_sum.h"
#include "trainer/tasks/scorer.h"
#include "trainer/tasks/tokens/entities.h"

namespace bp::trainer {

class TokenScorer : public Scorer {
 public:
  // `tags`: the model's; `tag_map`: the model's number of each of the samples' tags.
  TokenScorer(std::vector<std::string> tags, std::vector<int> tag_map, const StoredSplit& scored);

  // The tags of the sample's words, with blanks between them. "tags" is empty if they are unknown.
  [[nodiscard]] std::vector<PredictionColumn> columns() const override;
  // outputs: logits, [tokens, tags]. Keeps the most probable tag of each word.
  void keep(const Batch& block, const at::Tensor& outputs, std::vector<float>& kept) const override;
  [[nodiscard]] std::size_t kept_of(const Sample& sample) const override;
  void set_fields(const Sample& sample,
                  std::span<const float> kept,
                  std::vector<std::string>& fields) const override;

  [[nodiscard]] std::span<std::int64_t> counts() override { return losses_; }
  [[nodiscard]] EvaluationSummary summary() const override;
  [[nodiscard]] std::vector<std::string> lines(const std::string& name,
                                               const std::string& predictions) const override;
  [[nodiscard]] Sections sections() const override;
  [[nodiscard]] std::vector<ResultFile> files() const override;

 private:
  void count(const Batch& block, const at::Tensor& outputs, std::span<const float> kept) override;
  // Returns the model's number of a target; -1: the token has none.
  [[nodiscard]] int tag_of(std::int64_t target) const;

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

  std::vector<std::string> tags_;
  std::vector<int> tag_map_;
  EntityTags entity_tags_;
  std::vector<std::int64_t> losses_;  // the digits of an ExactSum, and the number of terms
};

}  // namespace bp::trainer
