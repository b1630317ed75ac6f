#include "trainer/model/words_of_batch.h"

#include <algorithm>

namespace bp::trainer {

WordsOfBatch words_of_batch(std::span<const std::int64_t> ids) {
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
