// Samples of a text: windows of its tokens, each as [CLS] window [SEP]. Or the sample of a pair of
// texts: [CLS] first [SEP] second [SEP]. A tokenizer may have other special tokens, and two between
// the texts of a pair: see SampleForm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "trainer/prepare/prepare.h"
#include "trainer/text/tokenizer.h"

namespace bp::trainer {

class TokenWindows {
 public:
  TokenWindows(const PrepareOptions& options, Tokenizer tokenizer);

  // Encodes a text. A longer one than the options' length has several windows, or is cut. An empty
  // text has one without tokens. With LongText::fold_sentence a window ends behind the last
  // sentence that ends in it, if one does.
  void encode(std::string_view text);
  // Encodes two texts as one sample. If they are too long, their ends are cut as the tokenizers
  // library does it (longest_first): the shorter text keeps at least half of the room, if it needs
  // it.
  void encode_pair(std::string_view first, std::string_view second);
  // Moves to the next window of the text; returns false after the last one.
  bool next();
  // The current window with [CLS] and [SEP], valid until next() or encode().
  [[nodiscard]] std::span<const std::int32_t> sample() const { return sample_; }
  // Of a pair: 0 for each token up to the first [SEP], 1 (or the tokenizer's type of the second
  // text) for those behind it.
  [[nodiscard]] std::span<const std::int32_t> token_types() const { return types_; }

 private:
  void make_pair();
  void encode_sentences(std::string_view text);
  [[nodiscard]] std::size_t end_of_window() const;

  std::size_t window_;  // most tokens of a sample without [CLS] and [SEP]
  LongText long_text_;
  Tokenizer tokenizer_;
  std::vector<std::int32_t> ids_;
  std::vector<std::size_t> sentence_ends_;  // in ids_, ascending
  std::size_t begin_ = 0;                   // of the next window
  bool at_end_ = true;
  std::vector<std::int32_t> sample_;
  bool is_pair_ = false;
  std::vector<std::int32_t> second_ids_;
  std::vector<std::int32_t> types_;
};

}  // namespace bp::trainer
