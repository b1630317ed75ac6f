#include "trainer/data/token_windows.h"

#include <algorithm>
#include <utility>

namespace bp::trainer {

TokenWindows::TokenWindows(const PrepareOptions& options, Tokenizer tokenizer)
    : window_(static_cast<std::size_t>(options.max_length - 2)),
      truncates_(options.long_text == LongText::truncate),
      tokenizer_(std::move(tokenizer)) {}

void TokenWindows::encode(std::string_view text) {
  ids_.clear();
  tokenizer_.encode(text, ids_);
  if (truncates_) ids_.resize(std::min(ids_.size(), window_));
  begin_ = 0;
  at_end_ = false;
}

bool TokenWindows::next() {
  if (at_end_) return false;
  const std::size_t end = std::min(begin_ + window_, ids_.size());
  sample_.assign(1, tokenizer_.cls_id());
  sample_.insert(sample_.end(), ids_.begin() + static_cast<std::ptrdiff_t>(begin_),
                 ids_.begin() + static_cast<std::ptrdiff_t>(end));
  sample_.push_back(tokenizer_.sep_id());
  begin_ = end;
  at_end_ = end == ids_.size();
  return true;
}

}  // namespace bp::trainer
