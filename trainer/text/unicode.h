// What BERT's tokenizer asks about a character. The answers are the tokenizers wheel's, frozen in
// unicode_tables.inc.
#pragma once

#include <vector>

namespace bp::trainer {

[[nodiscard]] bool is_dropped(char32_t c);  // control and private characters: as if not there
[[nodiscard]] bool is_space(char32_t c);
[[nodiscard]] bool is_ideograph(char32_t c);  // a word of its own
[[nodiscard]] bool is_punctuation(char32_t c);
[[nodiscard]] bool is_mark(char32_t c);  // an accent that stands by itself after decomposition
[[nodiscard]] char32_t lower_case(char32_t c);

// Replaces characters by their canonical decomposition and sorts marks (NFD).
void decompose(std::vector<char32_t>& text);

}  // namespace bp::trainer
