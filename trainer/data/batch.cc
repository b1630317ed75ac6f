#include "trainer/data/batch.h"

#include <algorithm>

#include "base/check.h"

namespace bp::trainer {
namespace {

int padded_length(const std::vector<Sample>& samples, int multiple, int max_length) {
  std::size_t longest = 0;
  for (const Sample& sample : samples) {
    longest = std::max(longest, sample.token_ids.size());
  }
  const int length = static_cast<int>(longest);
  const int rounded = (length + multiple - 1) / multiple * multiple;
  return max_length == 0 ? rounded : std::max(length, std::min(rounded, max_length));
}

}  // namespace

Batch make_batch(const std::vector<Sample>& samples,
                 std::int32_t pad_id,
                 int multiple,
                 int max_length) {
  BP_CHECK(multiple > 0, "batch lengths are multiples of 1 or more");
  Batch batch;
  batch.rows = static_cast<int>(samples.size());
  batch.length = padded_length(samples, multiple, max_length);
  const auto length = static_cast<std::size_t>(batch.length);
  batch.token_ids.assign(samples.size() * length, pad_id);
  auto row = batch.token_ids.begin();
  for (const Sample& sample : samples) {
    std::copy(sample.token_ids.begin(), sample.token_ids.end(), row);
    row += batch.length;
    batch.lengths.push_back(static_cast<std::int32_t>(sample.token_ids.size()));
    batch.labels.push_back(sample.label);
    batch.sample_ids.push_back(sample.sample_id);
    batch.text_ids.push_back(sample.text_id);
  }
  return batch;
}

}  // namespace bp::trainer
