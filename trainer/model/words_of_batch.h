// The words that a batch has, for gradients of their rows only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace bp::trainer {

struct WordsOfBatch {
  std::vector<std::int64_t> words = {};   // in ascending order, each once
  std::vector<std::int64_t> places = {};  // of each token's word among them
};
[[nodiscard]] WordsOfBatch words_of_batch(std::span<const std::int64_t> ids);

}  // namespace bp::trainer
