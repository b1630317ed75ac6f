#include "trainer/data/token_windows.h"

#include <algorithm>
#include <utility>

namespace bp::trainer {
namespace {

// Leaves at most `room` tokens of both.
void cut_pair(std::vector<std::int32_t>& first,
              std::vector<std::int32_t>& second,
              std::size_t room) {
  if (first.size() + second.size() <= room) return;
  auto& shorter = first.size() <= second.size() ? first : second;
  auto& longer = first.size() <= second.size() ? second : first;
  shorter.resize(std::min(shorter.size(), room / 2));
  longer.resize(room - shorter.size());
}

}  // namespace

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
  is_pair_ = false;
}

void TokenWindows::encode_pair(std::string_view first, std::string_view second) {
  ids_.clear();
  second_ids_.clear();
  tokenizer_.encode(first, ids_);
  tokenizer_.encode(second, second_ids_);
  cut_pair(ids_, second_ids_, window_ - 1);
  at_end_ = false;
  is_pair_ = true;
}

bool TokenWindows::next() {
  if (at_end_) return false;
  if (is_pair_) {
    make_pair();
    return true;
  }
  const std::size_t end = std::min(begin_ + window_, ids_.size());
  sample_.assign(1, tokenizer_.cls_id());
  sample_.insert(sample_.end(), ids_.begin() + static_cast<std::ptrdiff_t>(begin_),
                 ids_.begin() + static_cast<std::ptrdiff_t>(end));
  sample_.push_back(tokenizer_.sep_id());
  begin_ = end;
  at_end_ = end == ids_.size();
  return true;
}

void TokenWindows::make_pair() {
  sample_.assign(1, tokenizer_.cls_id());
  sample_.insert(sample_.end(), ids_.begin(), ids_.end());
  sample_.push_back(tokenizer_.sep_id());
  types_.assign(sample_.size(), 0);
  sample_.insert(sample_.end(), second_ids_.begin(), second_ids_.end());
  sample_.push_back(tokenizer_.sep_id());
  types_.resize(sample_.size(), 1);
  at_end_ = true;
}

}  // namespace bp::trainer
