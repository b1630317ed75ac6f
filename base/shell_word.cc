#include "base/shell_word.h"

#include "base/joined.h"

namespace bp {
namespace {

bool is_plain_in_a_shell(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("@%+=:,./-_").find(c) != std::string_view::npos;
}

}  // namespace

std::string quote_shell_word(std::string_view text) {
  bool plain = !text.empty();
  for (const char c : text) {
    plain = plain && is_plain_in_a_shell(c);
  }
  if (plain) {
    return std::string(text);
  }
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string quote_shell_words(const std::vector<std::string>& words) {
  return joined(words, " ", quote_shell_word);
}

}  // namespace bp
