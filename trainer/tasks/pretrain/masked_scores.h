// Scores of a masked language model.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trainer/tasks/exact_sum.h"

namespace bp::trainer {

// Counts of masked tokens and the exact sum of their losses, as integers. Adding up ranks is one
// all_reduce(sum) of values(), so the result is bit-identical for any number and order of ranks.
class MaskedTally {
 public:
  MaskedTally() : values_(kCounts + ExactSum::kSize) {}

  // Adds a masked token.
  void add(double loss, bool right);

  [[nodiscard]] std::int64_t tokens() const { return values_[0]; }
  // All three are NaN without tokens.
  [[nodiscard]] double mean_loss() const;   // natural logarithm
  [[nodiscard]] double perplexity() const;  // e to the mean loss
  [[nodiscard]] double accuracy() const;    // the share of tokens that the model finds most likely

  // The layout is private to this class; the size is always the same.
  [[nodiscard]] std::span<std::int64_t> values() { return values_; }

 private:
  static constexpr std::size_t kCounts = 2;  // tokens, right ones; then the digits of the sum
  std::vector<std::int64_t> values_;
};

// Returns the line for the terminal. `name`: what was scored, such as "test".
[[nodiscard]] std::string masked_line(const std::string& name,
                                      const MaskedTally& tally,
                                      std::int64_t samples);

}  // namespace bp::trainer
