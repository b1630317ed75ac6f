#include "trainer/model/batch_tokens.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstddef>

namespace bp::trainer {

using at::Tensor;

Tensor without_padding(const std::vector<std::int64_t>& numbers,
                       const Batch& batch,
                       const Layout& layout) {
  Tensor result = at::empty({layout.offsets.back()}, at::kLong);
  auto* to = result.data_ptr<std::int64_t>();
  for (int row = 0; row < batch.rows; ++row) {
    const auto from = numbers.begin() + std::ptrdiff_t{row} * batch.length;
    to = std::copy(from, from + layout.length(row), to);
  }
  return result;
}

std::vector<std::int64_t> positions_after(std::int64_t pad_id,
                                          const Batch& batch,
                                          const Layout& layout) {
  std::vector<std::int64_t> positions;
  for (int row = 0; row < batch.rows; ++row) {
    const auto ids = batch.token_ids.begin() + std::ptrdiff_t{row} * batch.length;
    std::int64_t last = pad_id;
    for (int place = 0; place < layout.length(row); ++place) {
      positions.push_back(ids[place] == pad_id ? pad_id : ++last);
    }
  }
  return positions;
}

Tensor reversed(const Tensor& numbers, const Layout& layout) {
  Tensor result = numbers.clone();
  auto* const all = result.data_ptr<std::int64_t>();
  for (std::size_t row = 0; row + 1 < layout.offsets.size(); ++row) {
    std::reverse(all + layout.offsets[row], all + layout.offsets[row + 1]);
  }
  return result;
}

std::vector<std::int64_t> reversed_positions(std::int64_t first, const Layout& layout) {
  std::vector<std::int64_t> positions;
  for (const std::int64_t length : layout.lengths) {
    for (std::int64_t place = length; place-- > 0;) positions.push_back(first + place);
  }
  return positions;
}

Tensor decoder_ids(const Tensor& ids, const Layout& layout, std::int64_t start) {
  Tensor result = ids.clone();
  auto* const id = result.data_ptr<std::int64_t>();
  std::copy(id + 1, id + result.numel(), id);
  for (std::size_t row = 1; row < layout.offsets.size(); ++row) id[layout.offsets[row] - 1] = start;
  return result;
}

}  // namespace bp::trainer
