#include "trainer/model/words_of_batch.h"

#include <algorithm>

namespace bp::trainer {

WordsOfBatch words_of_batch(std::span<const std::int64_t> ids) {
  WordsOfBatch batch;
  batch.words.assign(ids.begin(), ids.end());
  std::ranges::sort(batch.words);
  const auto repeated = std::ranges::unique(batch.words);
  batch.words.erase(repeated.begin(), repeated.end());
  for (const std::int64_t id : ids) {
    batch.places.push_back(std::ranges::lower_bound(batch.words, id) - batch.words.begin());
  }
  return batch;
}

}  // namespace bp::trainer
