#include "launcher/process/shell_words.h"

#include <utility>

#include "base/text.h"
#include "bp/error.h"

namespace bp::launcher {
namespace {

// Inside double quotes a backslash escapes only these characters.
bool escapable_in_double_quotes(char c) {
  return std::string_view("$`\"\\").find(c) != std::string_view::npos;
}

}  // namespace

std::vector<std::string> split_shell_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = '\0';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool has_next = i + 1 < text.size();
    if (quote != '\0') {
      if (c == quote) {
        quote = '\0';
      } else if (c == '\\' && quote == '"' && has_next && escapable_in_double_quotes(text[i + 1])) {
        word += text[++i];
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      in_word = true;
    } else if (c == '\\' && has_next) {
      word += text[++i];
      in_word = true;
    } else if (c == ' ' || c == '\t' || c == '\n') {
      if (in_word) {
        words.push_back(std::move(word));
        word.clear();
      }
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote != '\0') {
    throw Error(ErrorCode::invalid_argument,
                concat("the quote ", quote, " is not closed in: ", text));
  }
  if (in_word) {
    words.push_back(std::move(word));
  }
  return words;
}

}  // namespace bp::launcher
