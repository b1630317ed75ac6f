// Scores a masked language model on a split.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trainer/tasks/exact_sum.h"
#include "trainer/tasks/scorer.h"

namespace bp::trainer {

// What was predicted.
enum class Predicted : std::uint8_t { masked_tokens, next_sentences };

// Counts of predictions of both kinds and the exact sums of their losses, as integers. Adding up
// ranks is one all_reduce(sum) of values(), so the result is bit-identical for any number and order
// of ranks.
class MaskedTally {
 public:
  static constexpr auto kTokens = Predicted::masked_tokens;

  MaskedTally() : values_(2 * kSize) {}

  // Adds a prediction.
  void add(double loss, bool right, Predicted what = kTokens);

  [[nodiscard]] std::int64_t count(Predicted what = kTokens) const { return values_[begin(what)]; }
  // All three are NaN without predictions.
  [[nodiscard]] double mean_loss(Predicted what = kTokens) const;  // natural logarithm
  [[nodiscard]] double perplexity() const;                         // of tokens: e to the mean loss
  [[nodiscard]] double accuracy(Predicted what = kTokens) const;   // the share of the right ones

  // The layout is private to this class; the size is always the same.
  [[nodiscard]] std::span<std::int64_t> values() { return values_; }

 private:
  static constexpr std::size_t kCounts = 2;  // all, right ones; then the digits of the sum
  static constexpr std::size_t kSize = kCounts + ExactSum::kSize;
  [[nodiscard]] static std::size_t begin(Predicted what) {
    return static_cast<std::size_t>(what) * kSize;
  }

  std::vector<std::int64_t> values_;
};

// Returns the line for the terminal. `name`: what was scored, such as "test". It mentions next
// sentences if there are any.
[[nodiscard]] std::string masked_line(const std::string& name,
                                      const MaskedTally& tally,
                                      std::int64_t samples);

// A sample's row says how many of its tokens were masked, how many the model guessed, and the mean
// loss of these tokens, which is empty if there are none. For pairs it also says whether the second
// segment follows the first, and whether the model says so.
class MaskedScorer : public Scorer {
 public:
  // `samples`: of the split. `pairs`: the model predicts next sentences, too.
  explicit MaskedScorer(std::int64_t samples, bool pairs = false, const StoredSplit& scored = {})
      : Scorer(scored), samples_(samples), pairs_(pairs) {}

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
