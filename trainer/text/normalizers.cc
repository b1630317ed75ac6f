#include "trainer/text/normalizers.h"

#include <algorithm>
#include <cstddef>
#include <utility>
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
  std::string result;
  std::string_view rest = text;
  for (std::size_t at = rest.find(pattern); at != std::string_view::npos; at = rest.find(pattern)) {
    result.append(rest.substr(0, at)).append(content);
    rest.remove_prefix(at + pattern.size());
  }
  if (rest.size() == text.size()) return;
  text = result.append(rest);
}

void replace_runs_of_blanks(std::string_view content, std::string& text) {
  std::string result;
  std::string_view rest = text;
  for (std::size_t at = rest.find("  "); at != std::string_view::npos; at = rest.find("  ")) {
    result.append(rest.substr(0, at)).append(content);
    rest.remove_prefix(std::min(rest.find_first_not_of(' ', at), rest.size()));
  }
  if (rest.size() == text.size()) return;
  text = result.append(rest);
}

void replace_white_space(std::string_view content, std::string& text) {
  constexpr std::string_view kAlone = "\n\r\t";
  std::string result;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t length = white_space_at_start(rest);
    if (length > character_length(rest) || kAlone.find(rest.front()) != std::string_view::npos) {
      result.append(content);
      rest.remove_prefix(length);
      continue;
    }
    result.append(rest.substr(0, character_length(rest)));
    rest.remove_prefix(character_length(rest));
  }
  text = std::move(result);
}

}  // namespace bp::trainer
