#include "trainer/tasks/tokens/word_list.h"

#include <algorithm>
#include <cstddef>

namespace bp::trainer {
namespace {

constexpr std::string_view kLineBlanks = " \t\r\n";

}  // namespace

std::string join_words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ' ';
    for (const char c : word) {
      if (kLineBlanks.find(c) == std::string_view::npos) {
        text += c;
      } else {
        text += "\u00A0";
      }
    }
  }
  return text;
}

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  for (;;) {
    const std::size_t begin = text.find_first_not_of(kLineBlanks);
    if (begin == std::string_view::npos) return words;
    const std::size_t end = std::min(text.find_first_of(kLineBlanks, begin), text.size());
    words.emplace_back(text.substr(begin, end - begin));
    text.remove_prefix(end);
  }
}

}  // namespace bp::trainer
