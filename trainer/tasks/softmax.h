// Probabilities and losses from the logits of one sample or token, computed in double.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace bp::trainer {

// Appends the probability of each output.
void append_probabilities(std::span<const float> logits, std::vector<float>& to);

// Returns the negative logarithm of the probability of the output `answer`.
[[nodiscard]] double cross_entropy(std::span<const float> logits, std::size_t answer);

}  // namespace bp::trainer
