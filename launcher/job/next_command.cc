#include "launcher/job/next_command.h"

#include "comm/base/resume_words.h"
#include "launcher/process/shell_words.h"

namespace bp::launcher {

std::string next_command(const CommandWords& words, std::string_view told) {
  std::string command = told.empty() ? "run again:" : "resume:";
  const auto add = [&command](const std::string& word) { command += ' ' + quote_shell_word(word); };
  for (const std::string& word : words.own) {
    add(word);
  }
  const std::vector<std::string> arguments =
      told.empty() ? std::vector(words.program.begin() + 1, words.program.end()) : words_told(told);
  add(words.program.front());
  for (const std::string& word : arguments) {
    add(word);
  }
  return command;
}

}  // namespace bp::launcher
