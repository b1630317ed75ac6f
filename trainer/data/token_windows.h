// Samples of a text: windows of its tokens, each as [CLS] window [SEP].
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "trainer/data/prepare.h"
#include "trainer/text/tokenizer.h"

namespace bp::trainer {

class TokenWindows {
 public:
  TokenWindows(const PrepareOptions& options, Tokenizer tokenizer);

  // Encodes a text. A longer one than the options' length has several windows, or is cut. An empty
  // text has one without tokens.
  void encode(std::string_view text);
  // Moves to the next window of the text; returns false after the last one.
  bool next();
  // The current window with [CLS] and [SEP], valid until next() or encode().
  [[nodiscard]] std::span<const std::int32_t> sample() const { return sample_; }

 private:
  std::size_t window_;  // most tokens of a sample without [CLS] and [SEP]
  bool truncates_;
  Tokenizer tokenizer_;
  std::vector<std::int32_t> ids_;
  std::size_t begin_ = 0;  // of the next window
  bool at_end_ = true;
  std::vector<std::int32_t> sample_;
};

}  // namespace bp::trainer
