// The data sets of a shard of pre-training, as NVIDIA's create_pretraining_data.py writes them: n
// instances of at most S tokens, of which at most P are masked. All are integers, compressed by
// gzip:
//
//   input_ids            int32 [n, S]   padded with 0
//   input_mask           int8  [n, S]   1: a token, 0: padding
//   segment_ids          int8  [n, S]   0: of the first segment, 1: of the second
//   masked_lm_positions  int32 [n, P]   padded with 0, where [CLS] is, which is never masked
//   masked_lm_ids        int32 [n, P]   padded with 0
//   next_sentence_labels int8  [n]      0: the second segment follows, 1: it does not
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace bp::trainer {

// Of one instance.
struct ShardWidths {
  int tokens = 0;  // S
  int masked = 0;  // P
};

enum class ShardColumn : std::uint8_t {
  input_ids,
  input_mask,
  segment_ids,
  masked_lm_positions,
  masked_lm_ids,
  next_sentence_labels,
};
inline constexpr std::size_t kShardColumns = 6;
inline constexpr std::array<const char*, kShardColumns> kShardNames = {
    "input_ids",           "input_mask",    "segment_ids",
    "masked_lm_positions", "masked_lm_ids", "next_sentence_labels"};

// Returns how many numbers an instance has in the column.
[[nodiscard]] constexpr int width_of(ShardColumn column, const ShardWidths& widths) {
  switch (column) {
    case ShardColumn::masked_lm_positions:
    case ShardColumn::masked_lm_ids:
      return widths.masked;
    case ShardColumn::next_sentence_labels:
      return 1;
    default:
      return widths.tokens;
  }
}

// Whether the column's numbers are int32, and not int8.
[[nodiscard]] constexpr bool is_wide(ShardColumn column) {
  return column == ShardColumn::input_ids || column == ShardColumn::masked_lm_positions ||
         column == ShardColumn::masked_lm_ids;
}

}  // namespace bp::trainer
