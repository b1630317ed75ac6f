// Turns sentences of tagged words into samples of token classification.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trainer/text/tokenizer.h"

namespace bp::trainer {

// The target of a token that the loss ignores, as in PyTorch.
inline constexpr std::int64_t kIgnoredTarget = -100;

// A part of a sentence that is one sample.
struct SentenceWindow {
  std::vector<std::int32_t> ids = {};      // with [CLS] and [SEP]
  std::vector<std::int64_t> targets = {};  // one for each id
  std::int64_t first_word = 0;             // number in the sentence, from 0
  std::vector<std::int64_t> positions =
      {};  // in ids, of the first piece of first_word and the next
};

// Cuts words into pieces. The target of a word's first piece is the word's number in `tags`, and
// that of every other token kIgnoredTarget, as is that of a word whose number is negative. `tags`
// has a number for each word, or none at all. A word of which nothing is left, such as a control
// character, becomes [UNK], so each word has a first piece in exactly one window.
//
// A window has at most `max_length` tokens. It ends between two words, except inside a word that
// does not fit in a window of its own. A sentence without words makes no window. Throws
// invalid_argument if `max_length` is below 3 or the number of tags is wrong.
[[nodiscard]] std::vector<SentenceWindow> make_sentence_windows(
    const std::vector<std::string>& words,
    std::span<const std::int64_t> tags,
    std::size_t max_length,
    Tokenizer& tokenizer);

}  // namespace bp::trainer
