#include "trainer/text/splitters.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/utf8.h"
#include "trainer/text/normalizers.h"
#include "trainer/text/unicode.h"

namespace bp::trainer {
namespace {

enum class CharacterKind : std::uint8_t { letter, number, space, other };

CharacterKind character_kind(char32_t c) {
  if (is_white_space(c)) return CharacterKind::space;
  if (is_letter(c)) return CharacterKind::letter;
  return is_number(c) ? CharacterKind::number : CharacterKind::other;
}

std::array<CharacterKind, 128> make_ascii_kinds() {
  std::array<CharacterKind, 128> kinds{};
  for (char32_t c = 0; c < kinds.size(); ++c) kinds[c] = character_kind(c);
  return kinds;
}

// Returns the kind of the character at `at` and moves past it.
CharacterKind next_kind(std::string_view text, std::size_t& at) {
  static const std::array<CharacterKind, 128> kAscii = make_ascii_kinds();
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte >= 0x80) return character_kind(next_code_point(text, at));
  ++at;
  return kAscii[byte];
}

std::size_t length_of_contraction(std::string_view text) {
  for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
    if (text.starts_with(ending)) return ending.size();
  }
  return 0;
}

// The length of white space up to the next word: a blank before a word is the word's.
std::size_t length_of_space(std::string_view text) {
  std::size_t last = 0;  // where the last of it begins
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    if (next_kind(text, at) == CharacterKind::space) {
      last = begin;
      continue;
    }
    return last == 0 ? begin : last;
  }
  return text.size();
}

std::size_t length_of_word(std::string_view text) {
  if (text.front() == '\'') {
    if (const std::size_t length = length_of_contraction(text); length > 0) return length;
  }
  std::size_t end = text.front() == ' ' && text.size() > 1 ? 1 : 0;
  const CharacterKind kind = next_kind(text, end);
  if (kind == CharacterKind::space) return length_of_space(text);
  for (std::size_t at = end; at < text.size() && next_kind(text, at) == kind;) end = at;
  return end;
}

}  // namespace

void split_as_gpt2(std::string_view text, const TakeWord& take) {
  while (!text.empty()) {
    const std::size_t length = length_of_word(text);
    take(text.substr(0, length));
    text.remove_prefix(length);
  }
}

void split_at_white_space(std::string_view text, const TakeWord& take) {
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t here = at;
    if (next_kind(text, at) != CharacterKind::space) continue;
    if (begin < here) take(text.substr(begin, here - begin));
    begin = at;
  }
  if (begin < text.size()) take(text.substr(begin));
}

void split_at_marks(const Metaspace& metaspace, std::string_view text, const TakeWord& take) {
  const std::string& mark = metaspace.mark;
  std::string marked(text);
  replace_all(" ", mark, marked);
  if (metaspace.prepend && !marked.empty() && !marked.starts_with(mark)) marked.insert(0, mark);
  std::string_view rest = marked;
  while (!rest.empty()) {
    const std::size_t end = metaspace.split ? rest.find(mark, 1) : std::string_view::npos;
    take(rest.substr(0, end));
    rest.remove_prefix(std::min(end, rest.size()));
  }
}

}  // namespace bp::trainer
