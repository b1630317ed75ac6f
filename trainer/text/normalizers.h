// Steps that change a text before it is cut into words, as the tokenizers wheel has them.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace bp::trainer {

// Takes and leaves valid UTF-8. Threads: any number of threads may call it at once.
using Normalizer = std::function<void(std::string& text)>;

enum class UnicodeForm { nfd, nfc, nfkd, nfkc };
void normalize(UnicodeForm form, std::string& text);

void make_lower_case(std::string& text);
void strip_accents(std::string& text);  // the text is decomposed
void strip(bool left, bool right, std::string& text);
void replace_all(std::string_view pattern, std::string_view content, std::string& text);
// Replaces each run of at least two blanks.
void replace_runs_of_blanks(std::string_view content, std::string& text);
// Replaces each run of at least two characters of white space, and each line end and tab.
void replace_white_space(std::string_view content, std::string& text);

}  // namespace bp::trainer
