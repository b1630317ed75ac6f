#include "base/resume_words.h"

#include <algorithm>
#include <iterator>

namespace bp {

std::string told_words(const ResumeWords& words) {
  std::string text = words.saved ? "saved" : "begun";
  text += '\0';
  for (const std::string& word : words.given) {
    text += '+' + word + '\0';
  }
  text += '\0';
  for (const std::string& word : words.instead) {
    text += word + '\0';
  }
  return text;
}

ResumeWords words_told(std::string_view text) {
  ResumeWords words;
  enum class Part { saved, given, instead } part = Part::saved;
  for (std::size_t end = 0; (end = text.find('\0')) != std::string_view::npos;) {
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (part == Part::saved) {
      words.saved = word == "saved";
      part = Part::given;
    } else if (part == Part::instead) {
      words.instead.emplace_back(word);
    } else if (word.empty()) {
      part = Part::instead;
    } else {
      words.given.emplace_back(word.substr(1));
    }
  }
  return words;
}

std::vector<std::string> command_instead(const std::vector<std::string>& command,
                                         const ResumeWords& words) {
  const std::vector<std::string>& given = words.given;
  if (command.size() < given.size() ||
      !std::equal(given.rbegin(), given.rend(), command.rbegin())) {
    return command;
  }
  std::vector<std::string> next(command.begin(), command.end() - std::ssize(given));
  next.insert(next.end(), words.instead.begin(), words.instead.end());
  return next;
}

}  // namespace bp
