#include "trainer/batches/batch.h"

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

// Appends `values` and as much padding as `width` needs.
template <class Number>
void append_padded(const std::vector<Number>& values,
                   std::size_t width,
                   std::int64_t padding,
                   std::vector<Number>& to) {
  to.insert(to.end(), values.begin(), values.end());
  to.insert(to.end(), width - values.size(), static_cast<Number>(padding));
}

BatchArray padded_array(const std::vector<Sample>& samples,
                        const ArrayField& field,
                        std::size_t index,
                        int length) {
  const bool integers = field.element == Element::integer;
  const auto size_of = [&](const Sample& sample) {
    const ArrayValues& values = sample.arrays[index];
    return integers ? values.integers.size() : values.reals.size();
  };
  std::size_t width = field.shape == Shape::per_token ? static_cast<std::size_t>(length) : 1;
  if (field.shape == Shape::ragged) {
    width = 0;
    for (const Sample& sample : samples) width = std::max(width, size_of(sample));
  }
  BatchArray array{.width = static_cast<int>(width)};
  for (const Sample& sample : samples) {
    const ArrayValues& values = sample.arrays[index];
    if (integers) {
      append_padded(values.integers, width, field.padding, array.integers);
    } else {
      append_padded(values.reals, width, field.padding, array.reals);
    }
    if (field.shape == Shape::ragged) {
      array.sizes.push_back(static_cast<std::int32_t>(size_of(sample)));
    }
  }
  return array;
}

// Cuts out consecutive rows of so many numbers each. An empty vector stays empty.
template <class Number>
std::vector<Number> cut(const std::vector<Number>& from,
                        std::int64_t first,
                        std::int64_t count,
                        std::int64_t width = 1) {
  if (from.empty()) return {};
  const auto begin = from.begin() + first * width;
  return {begin, begin + count * width};
}

}  // namespace

Batch rows_of(const Batch& batch, std::int64_t first, std::int64_t count) {
  Batch rows{.rows = static_cast<int>(count),
             .length = batch.length,
             .is_filler = batch.is_filler,
             .token_ids = cut(batch.token_ids, first, count, batch.length),
             .lengths = cut(batch.lengths, first, count),
             .sample_ids = cut(batch.sample_ids, first, count),
             .text_ids = cut(batch.text_ids, first, count),
             .token_types = cut(batch.token_types, first, count, batch.length)};
  for (const BatchArray& array : batch.arrays) {
    rows.arrays.push_back({.width = array.width,
                           .integers = cut(array.integers, first, count, array.width),
                           .reals = cut(array.reals, first, count, array.width),
                           .sizes = cut(array.sizes, first, count)});
  }
  return rows;
}

Batch make_batch(const std::vector<Sample>& samples,
                 const SampleSchema& schema,
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
    batch.sample_ids.push_back(sample.sample_id);
    batch.text_ids.push_back(sample.text_id);
  }
  for (std::size_t i = 0; i < schema.size(); ++i) {
    batch.arrays.push_back(padded_array(samples, schema[i], i, batch.length));
    if (schema[i].name == kTokenTypes) batch.token_types = batch.arrays.back().integers;
  }
  return batch;
}

}  // namespace bp::trainer
