// The properties of characters that BERT's tokenizer needs. They are those of the tokenizers wheel,
// frozen in unicode_tables.inc.
#pragma once

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

// Replaces characters by their canonical decomposition and sorts marks (NFD).
void decompose(std::vector<char32_t>& text);

}  // namespace bp::trainer
