#include "trainer/tasks/pretrain/sentences.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace bp::trainer {
namespace {

constexpr std::string_view kSpace = " \t\n\v\f\r";
constexpr std::array<std::string_view, 3> kWideMarks = {"。", "！", "？"};
constexpr std::array<std::string_view, 7> kClosing = {"\"", "'", ")", "]", "”", "’", "»"};
constexpr std::array<std::string_view, 27> kAbbreviations = {
    "Mr",  "Mrs",  "Ms",  "Dr",  "Prof", "St",  "Jr",  "Sr",  "Gen",
    "Col", "Capt", "Lt",  "Sgt", "Rev",  "Hon", "Gov", "Sen", "Rep",
    "vs",  "cf",   "etc", "e.g", "i.e",  "No",  "Vol", "pp",  "ca"};

bool is_space(char c) { return kSpace.find(c) != std::string_view::npos; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

// Whether the '.' at the end of `before` belongs to its last word.
bool is_abbreviated(std::string_view before) {
  const std::size_t space = before.find_last_of(" \t\n\v\f\r(\"'");
  const std::string_view word = space == std::string_view::npos ? before : before.substr(space + 1);
  if (word.size() == 1 && is_upper(word[0])) return true;
  const bool initials = word.size() >= 3 && is_upper(word.back()) && word[word.size() - 2] == '.';
  return initials || std::ranges::find(kAbbreviations, word) != kAbbreviations.end();
}

// Returns the size of the mark of `marks` at `at`, or 0.
template <std::size_t count>
std::size_t mark_at(std::string_view text,
                    std::size_t at,
                    const std::array<std::string_view, count>& marks) {
  for (const std::string_view mark : marks) {
    if (text.substr(at).starts_with(mark)) return mark.size();
  }
  return 0;
}

// Returns where the sentence ends if text[at] is a mark that ends one, else 0.
std::size_t end_behind(std::string_view text, std::size_t begin, std::size_t at) {
  const char c = text[at];
  const bool narrow = c == '.' || c == '!' || c == '?';
  const std::size_t wide = narrow || is_space(c) ? 0 : mark_at(text, at, kWideMarks);
  if (!narrow && wide == 0) return 0;
  std::size_t end = at + (narrow ? 1 : wide);
  while (end < text.size()) {
    const std::size_t closing = mark_at(text, end, kClosing);
    if (closing == 0) break;
    end += closing;
  }
  if (wide > 0 || end == text.size()) return end;
  if (!is_space(text[end])) return 0;
  if (c == '.' && is_abbreviated(text.substr(begin, at - begin))) return 0;
  const std::size_t next = text.find_first_not_of(kSpace, end);
  return next != std::string_view::npos && is_lower(text[next]) ? 0 : end;
}

}  // namespace

std::string_view without_space_around(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

void split_sentences(std::string_view text, const std::function<void(std::string_view)>& take) {
  const auto take_part = [&](std::size_t begin, std::size_t end) {
    const std::string_view sentence = without_space_around(text.substr(begin, end - begin));
    if (!sentence.empty()) take(sentence);
  };
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::size_t end = end_behind(text, begin, at);
    if (end == 0) continue;
    take_part(begin, end);
    begin = end;
    at = end - 1;
  }
  take_part(begin, text.size());
}

}  // namespace bp::trainer
