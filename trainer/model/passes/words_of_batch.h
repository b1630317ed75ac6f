// The words that a batch has, for gradients of their rows only. Does not use LibTorch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace bp::trainer {

struct WordsOfBatch {
  std::vector<std::int64_t> words = {};   // in ascending order, each once
  std::vector<std::int64_t> places = {};  // of each token's word among them
};

inline WordsOfBatch words_of_batch(std::span<const std::int64_t> ids) {
  WordsOfBatch batch;
  batch.words.assign(ids.begin(), ids.end());
  std::ranges::sort(batch.words);
  batch.words.erase(std::unique(batch.words.begin(), batch.words.end()), batch.words.end());
  for (const std::int64_t id : ids) {
    batch.places.push_back(std::ranges::lower_bound(batch.words, id) - batch.words.begin());
  }
  return batch;
}

}  // namespace bp::trainer
