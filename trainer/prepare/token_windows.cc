#include "trainer/prepare/token_windows.h"

#include <algorithm>
#include <iterator>
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

// Returns the number of bytes up to the first . ! or ? before a blank, with the mark, or of all.
std::size_t length_of_sentence(std::string_view text) {
  constexpr std::string_view kMarks = ".!?";
  constexpr std::string_view kBlanks = " \t\r\n";
  for (std::size_t at = text.find_first_of(kMarks); at < text.size();
       at = text.find_first_of(kMarks, at + 1)) {
    if (at + 1 == text.size() || kBlanks.find(text[at + 1]) != std::string_view::npos) {
      return at + 1;
    }
  }
  return text.size();
}

}  // namespace

TokenWindows::TokenWindows(const PrepareOptions& options, Tokenizer tokenizer)
    : window_(static_cast<std::size_t>(options.max_length - 2)),
      long_text_(options.long_text),
      tokenizer_(std::move(tokenizer)) {}

void TokenWindows::encode(std::string_view text) {
  ids_.clear();
  sentence_ends_.clear();
  if (long_text_ == LongText::fold_sentence) {
    encode_sentences(text);
  } else {
    tokenizer_.encode(text, ids_);
  }
  if (long_text_ == LongText::truncate) ids_.resize(std::min(ids_.size(), window_));
  begin_ = 0;
  at_end_ = false;
  is_pair_ = false;
}

// The tokens are those of the whole text, because a blank always ends a token.
void TokenWindows::encode_sentences(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = length_of_sentence(text);
    tokenizer_.encode(text.substr(0, length), ids_);
    sentence_ends_.push_back(ids_.size());
    text.remove_prefix(length);
  }
}

std::size_t TokenWindows::end_of_window() const {
  const std::size_t end = std::min(begin_ + window_, ids_.size());
  if (end == ids_.size()) return end;
  const auto after = std::ranges::upper_bound(sentence_ends_, end);
  if (after == sentence_ends_.begin() || *std::prev(after) <= begin_) return end;
  return *std::prev(after);
}

void TokenWindows::encode_pair(std::string_view first, std::string_view second) {
  ids_.clear();
  second_ids_.clear();
  tokenizer_.encode(first, ids_);
  tokenizer_.encode(second, second_ids_);
  const auto separators = static_cast<std::size_t>(tokenizer_.form().separators);
  cut_pair(ids_, second_ids_, window_ - std::min(window_, separators));
  at_end_ = false;
  is_pair_ = true;
}

bool TokenWindows::next() {
  if (at_end_) return false;
  if (is_pair_) {
    make_pair();
    return true;
  }
  const std::size_t end = end_of_window();
  sample_.assign(1, tokenizer_.form().cls);
  sample_.insert(sample_.end(), ids_.begin() + static_cast<std::ptrdiff_t>(begin_),
                 ids_.begin() + static_cast<std::ptrdiff_t>(end));
  sample_.push_back(tokenizer_.form().sep);
  begin_ = end;
  at_end_ = end == ids_.size();
  return true;
}

void TokenWindows::make_pair() {
  const SampleForm& form = tokenizer_.form();
  sample_.assign(1, form.cls);
  sample_.insert(sample_.end(), ids_.begin(), ids_.end());
  sample_.insert(sample_.end(), static_cast<std::size_t>(form.separators), form.sep);
  types_.assign(sample_.size(), 0);
  sample_.insert(sample_.end(), second_ids_.begin(), second_ids_.end());
  sample_.push_back(form.sep);
  types_.resize(sample_.size(), form.second_type);
  at_end_ = true;
}

}  // namespace bp::trainer
