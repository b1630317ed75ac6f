// Divides the samples of a step into micro-batches: into ones of at most a number of tokens, or
// into ones with given numbers of samples. Pure arithmetic on the samples' lengths.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace bp::trainer {

struct TokenLimit {
  std::int64_t most = 0;   // tokens of a micro-batch
  std::int64_t parts = 1;  // micro-batches of a step, on all ranks together; 0: as few as can be
};

// Returns how many of the next samples a step takes: it fills one micro-batch after the other, each
// with as many samples as fit. `length_of(i)` is the length of the i-th sample of `available`, none
// of which is longer than the limit.
[[nodiscard]] std::int64_t samples_of_step(
    const TokenLimit& limit,
    std::int64_t available,
    const std::function<std::int64_t(std::int64_t)>& length_of);

// Divides the samples of a step into as many consecutive parts so that the largest part has as few
// tokens as possible. Returns the end of each part; the last parts may be empty. At least one part.
[[nodiscard]] std::vector<std::int64_t> balanced_parts(const TokenLimit& limit,
                                                       std::span<const std::int64_t> lengths);

// Divides the samples of a step into consecutive parts with tokens in proportion to `weights`,
// which are not negative and not all 0. Returns the end of each part.
[[nodiscard]] std::vector<std::int64_t> weighted_parts(std::span<const double> weights,
                                                       std::span<const std::int64_t> lengths);

// Divides samples into parts with these numbers of samples, which sum to the number of samples, so
// that the parts have about the same number of tokens. Returns the indices of each part's samples,
// in ascending order. Longer samples come first, each to the part with the fewest tokens, or, if
// parts are unequal `by_share`, to that with the fewest tokens for its number of samples.
[[nodiscard]] std::vector<std::vector<std::int64_t>> deal_by_tokens(
    std::span<const std::int64_t> counts,
    std::span<const std::int64_t> lengths,
    bool by_share = false);

}  // namespace bp::trainer
