// How a batch lies in memory inside the encoder: its tokens one after another without padding, so
// that nothing is computed for padding.
#pragma once

#include <cstdint>
#include <vector>

namespace bp::trainer {

struct Layout {
  int rows = 0;
  int longest = 0;                         // the width of attention's square matrices
  std::vector<std::int64_t> offsets;       // [rows + 1], where each sample's tokens begin
  std::vector<std::int64_t> samples;       // [rows], sample ids: they choose what dropout drops
  std::vector<std::int32_t> row_of_token;  // [tokens], -1 for those that only fill up
  std::int64_t tokens = 0;                 // offsets.back(), rounded up

  [[nodiscard]] int length(int row) const {
    const auto r = static_cast<std::size_t>(row);
    return static_cast<int>(offsets[r + 1] - offsets[r]);
  }
};

// `longest` and `tokens` are rounded up to a few sizes, since oneDNN builds and keeps code for each
// shape that it meets.
[[nodiscard]] Layout make_layout(const std::vector<std::int32_t>& lengths,
                                 const std::vector<std::int64_t>& samples);

// The same samples with their first tokens alone.
[[nodiscard]] Layout first_tokens(const Layout& layout);

}  // namespace bp::trainer
