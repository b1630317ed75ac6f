// Scores of a masked language model, and of the prediction of next sentences.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trainer/tasks/exact_sum.h"

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

}  // namespace bp::trainer
