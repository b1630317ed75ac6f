#include "trainer/tasks/pretrain/mask_batch.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace bp::trainer {
namespace {

// Returns rows of numbers as a ragged array.
template <class NumbersOf>
BatchArray ragged_array(const std::vector<Masks>& rows, const NumbersOf& numbers_of) {
  BatchArray array{.width = 0};
  for (const Masks& row : rows) {
    const auto size = static_cast<std::int32_t>(numbers_of(row).size());
    array.sizes.push_back(size);
    array.width = std::max(array.width, size);
  }
  const auto width = static_cast<std::size_t>(array.width);
  array.integers.reserve(rows.size() * width);
  for (const Masks& row : rows) {
    const std::vector<std::int32_t>& numbers = numbers_of(row);
    array.integers.insert(array.integers.end(), numbers.begin(), numbers.end());
    array.integers.insert(array.integers.end(), width - numbers.size(), 0);
  }
  return array;
}

}  // namespace

void mask_batch(const Masker& masker, const BatchDraw& draw, Batch& batch) {
  const auto length = static_cast<std::size_t>(batch.length);
  std::vector<Masks> rows;
  std::vector<std::int32_t> tokens;
  for (std::size_t row = 0; row < static_cast<std::size_t>(batch.rows); ++row) {
    const auto begin = batch.token_ids.begin() + static_cast<std::ptrdiff_t>(row * length);
    tokens.assign(begin, begin + batch.lengths[row]);
    rows.push_back(
        masker.hide(tokens, masker.draws_of(draw.seed, draw.epoch, batch.sample_ids[row])));
    std::ranges::copy(tokens, begin);
  }
  batch.arrays.push_back(ragged_array(
      rows, [](const Masks& row) -> const auto& { return row.positions; }));
  batch.arrays.push_back(ragged_array(
      rows, [](const Masks& row) -> const auto& { return row.ids; }));
}

}  // namespace bp::trainer
