#include "trainer/text/normalizers.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/utf8.h"
#include "trainer/text/unicode.h"

namespace bp::trainer {
namespace {

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

std::vector<char32_t> characters_in(std::string_view text) {
  std::vector<char32_t> characters;
  characters.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) characters.push_back(next_code_point(text, at));
  return characters;
}

void assign_utf8(const std::vector<char32_t>& characters, std::string& text) {
  text.clear();
  for (const char32_t c : characters) append_utf8(c, text);
}

// Replaces each part of the text that `find(rest)` returns as the first one in the rest of the
// text, until it returns an empty one.
template <class Find>
void replace_found(std::string_view content, std::string& text, const Find& find) {
  std::string result;
  std::string_view rest = text;
  for (std::string_view found = find(rest); !found.empty(); found = find(rest)) {
    result.append(rest.begin(), found.begin()).append(content);
    rest = {found.end(), rest.end()};
  }
  if (rest.size() < text.size()) text = result.append(rest);
}

}  // namespace

void normalize(UnicodeForm form, std::string& text) {
  if (is_ascii(text)) return;
  const bool compatible = form == UnicodeForm::nfkd || form == UnicodeForm::nfkc;
  std::vector<char32_t> characters = characters_in(text);
  decompose(characters, compatible ? Decomposition::compatible : Decomposition::canonical);
  if (form == UnicodeForm::nfc || form == UnicodeForm::nfkc) compose(characters);
  assign_utf8(characters, text);
}

void make_lower_case(std::string& text) {
  const std::vector<char32_t> characters = characters_in(text);
  text.clear();
  for (const char32_t c : characters) append_lower_case(c, text);
}

void strip_accents(std::string& text) {
  if (is_ascii(text)) return;
  std::vector<char32_t> characters = characters_in(text);
  std::erase_if(characters, is_combining);
  assign_utf8(characters, text);
}

void strip(bool left, bool right, std::string& text) {
  if (right) text.resize(text.size() - white_space_at_end(text));
  if (left) text.erase(0, white_space_at_start(text));
}

void replace_all(std::string_view pattern, std::string_view content, std::string& text) {
  replace_found(content, text, [&](std::string_view rest) {
    const std::size_t at = rest.find(pattern);
    return at == std::string_view::npos ? std::string_view() : rest.substr(at, pattern.size());
  });
}

void replace_runs_of_blanks(std::string_view content, std::string& text) {
  replace_found(content, text, [](std::string_view rest) {
    const std::size_t at = rest.find("  ");
    if (at == std::string_view::npos) return std::string_view();
    return rest.substr(at, rest.find_first_not_of(' ', at) - at);
  });
}

void replace_white_space(std::string_view content, std::string& text) {
  constexpr std::string_view kAlone = "\n\r\t";
  replace_found(content, text, [&](std::string_view rest) {
    for (; !rest.empty(); rest.remove_prefix(character_length(rest))) {
      const std::string_view space = rest.substr(0, white_space_at_start(rest));
      const bool alone = kAlone.find(rest.front()) != std::string_view::npos;
      if (alone || space.size() > character_length(rest)) return space;
    }
    return rest;
  });
}

}  // namespace bp::trainer
