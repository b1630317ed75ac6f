// What the task "pretrain" makes of rows: samples of text, whose tokens are masked when a batch is
// made. Does not use LibTorch.
#pragma once

#include <cstddef>
#include <string>

#include "trainer/data/batch.h"
#include "trainer/tasks/pretrain/masks.h"

namespace bp::trainer {

struct PretrainOptions {
  std::string text_column = "text";  // by name, or by number from 1; a key in JSON lines
  bool lines = false;                // each line of a file of plain text is a row
  bool static_masks = false;
  MaskOptions masks = {};
};

// The masked tokens of a batch, which completion() appends as its last two arrays. Both are ragged:
// positions in the samples, and what the tokens were.
inline constexpr std::size_t kMaskedArrays = 2;
[[nodiscard]] inline const BatchArray& masked_positions(const Batch& batch) {
  return batch.arrays[batch.arrays.size() - kMaskedArrays];
}
[[nodiscard]] inline const BatchArray& masked_ids(const Batch& batch) {
  return batch.arrays.back();
}

}  // namespace bp::trainer
