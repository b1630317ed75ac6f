// Steps that cut a text into words, as the tokenizers wheel has them ("pre-tokenizers").
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace bp::trainer {

using TakeWord = std::function<void(std::string_view word)>;

// Calls `take` with each word of `text`, which is valid UTF-8, in order. A word is not empty, and
// valid during the call. Threads: any number of threads may call it at once.
using Splitter = std::function<void(std::string_view text, const TakeWord& take)>;

// GPT-2's words: letters, numbers or other characters, with the blank before them, and white space.
void split_as_gpt2(std::string_view text, const TakeWord& take);

void split_at_white_space(std::string_view text, const TakeWord& take);

struct Metaspace {
  std::string mark;     // stands for a blank and begins a word
  bool prepend = true;  // also before the first word
  bool split = true;
};
void split_at_marks(const Metaspace& metaspace, std::string_view text, const TakeWord& take);

}  // namespace bp::trainer
