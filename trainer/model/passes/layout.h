// The memory layout of a batch inside the encoder: its tokens in sequence without padding, so that
// nothing is computed for padding.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace bp::trainer {

struct DeviceLayout;  // device_layout.h

struct Layout {
  int rows = 0;
  int longest = 0;                         // width of attention's square matrices
  std::vector<std::int64_t> offsets;       // [rows + 1], where each sample's tokens begin
  std::vector<std::int64_t> samples;       // [rows], sample ids, which determine what dropout drops
  std::vector<std::int64_t> lengths;       // [rows]
  std::vector<std::int32_t> row_of_token;  // [tokens], -1 for tokens that only fill up
  // Of each token, and 0 of those that only fill up: its sample's id, its place in the sample, and
  // its place among the samples as rows of `longest` tokens each.
  std::vector<std::int64_t> sample_of_token;
  std::vector<std::int64_t> place_of_token;
  std::vector<std::int64_t> padded_of_token;
  // The row of each token, without those that only fill up, in the table of positions. Empty: its
  // place in the sample.
  std::vector<std::int64_t> position_of_token;
  std::int64_t tokens = 0;                        // offsets.back(), rounded up
  std::shared_ptr<const DeviceLayout> on_device;  // null on the host

  [[nodiscard]] int length(int row) const {
    return static_cast<int>(lengths[static_cast<std::size_t>(row)]);
  }
};

// On the host the number of tokens is rounded up to a multiple of this, so that there are few
// sizes: oneDNN compiles and keeps code for each shape, which takes 1 ms. A larger one would
// compute more padding.
inline constexpr std::int64_t kTokenMultiple = 16;

// Makes a layout. Rounds `longest` up to a multiple of 16, and `tokens` to one of `multiple`.
[[nodiscard]] Layout make_layout(const std::vector<std::int32_t>& lengths,
                                 const std::vector<std::int64_t>& samples,
                                 std::int64_t multiple = kTokenMultiple);

// Returns the layout of the same samples with only their first tokens.
[[nodiscard]] Layout first_tokens(const Layout& layout);

}  // namespace bp::trainer
