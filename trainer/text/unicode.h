// The properties of characters that tokenizers need. They are those of the tokenizers wheel, frozen
// in unicode_tables.inc.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace bp::trainer {

// Control and private characters, which the tokenizer ignores.
[[nodiscard]] bool is_dropped(char32_t c);
[[nodiscard]] bool is_space(char32_t c);
[[nodiscard]] bool is_ideograph(char32_t c);  // counts as a word by itself
[[nodiscard]] bool is_punctuation(char32_t c);
// An accent that is a separate character after decomposition.
[[nodiscard]] bool is_mark(char32_t c);
[[nodiscard]] char32_t lower_case(char32_t c);
// Unlike lower_case(), it gives the dotted I its dot, which decomposition has taken from BERT's.
void append_lower_case(char32_t c, std::string& text);

// Unicode's categories L and N.
[[nodiscard]] bool is_letter(char32_t c);
[[nodiscard]] bool is_number(char32_t c);
// Unicode's category M. It has more characters than is_mark().
[[nodiscard]] bool is_combining(char32_t c);
// Unicode's property White_Space. is_space() differs, because BERT drops control characters.
[[nodiscard]] bool is_white_space(char32_t c);
// Return the bytes of white space with which valid UTF-8 begins or ends.
[[nodiscard]] std::size_t white_space_at_start(std::string_view text);
[[nodiscard]] std::size_t white_space_at_end(std::string_view text);

// Replaces characters by their decomposition, canonical or also that of compatibility characters,
// and sorts marks (NFD, NFKD).
enum class Decomposition { canonical, compatible };
void decompose(std::vector<char32_t>& text, Decomposition kind = Decomposition::canonical);
// Composes what decompose() has made (NFC, NFKC).
void compose(std::vector<char32_t>& text);

}  // namespace bp::trainer
