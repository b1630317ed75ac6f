// Makes samples of rows for the task "pretrain": text, whose tokens are masked when a batch is
// made. Does not use LibTorch.
#pragma once

#include <cstddef>
#include <string>

#include "trainer/batches/batch.h"
#include "trainer/tasks/pretrain/documents.h"
#include "trainer/tasks/pretrain/masks.h"
#include "trainer/tasks/task_input.h"

namespace bp::trainer {

struct PretrainOptions {
  std::string text_column = "text";  // by name, or by number from 1; a key in JSON lines
  bool lines = false;                // each line of a file of plain text is a row
  bool static_masks = false;
  MaskOptions masks = {};
  bool next_sentence = false;           // samples are pairs of segments, and the model says so
  TextForm line = TextForm::sentences;  // of plain text of which pairs are made
  int copies = 1;                       // of each document
  int limit_files = 0;                  // the most shards of a folder; 0: all
};

// The options of an input that make_pretrain_input() has returned.
[[nodiscard]] const PretrainOptions& pretrain_options(const TaskInput& input);

// A sample holds up to four arrays, in this order:
// - a pair of segments has the token types and, with --next-sentence, whether the second segment
//   follows the first (0) or not (1);
// - last, the masked tokens: their positions in the sample, and what they were. Shards hold them.
//   For other samples, completion() draws them and appends these arrays to a batch.
inline constexpr const char* kNextSentence = "next_sentence";
inline constexpr std::size_t kNextSentenceArray = 1;
inline constexpr std::size_t kMaskedArrays = 2;
inline constexpr std::size_t kPairArrays = 2;
// Of a complete batch.
[[nodiscard]] inline bool has_next_sentence(const Batch& batch) {
  return batch.arrays.size() == kPairArrays + kMaskedArrays;
}
[[nodiscard]] inline const BatchArray& masked_positions(const Batch& batch) {
  return batch.arrays[batch.arrays.size() - kMaskedArrays];
}
[[nodiscard]] inline const BatchArray& masked_ids(const Batch& batch) {
  return batch.arrays.back();
}

}  // namespace bp::trainer
