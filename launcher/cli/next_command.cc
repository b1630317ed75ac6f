#include "launcher/cli/next_command.h"

#include "base/resume_words.h"
#include "launcher/process/shell_words.h"

namespace bp::launcher {

std::string next_command(const CommandWords& words, std::string_view reported) {
  const ResumeWords resumed = words_told(reported);
  std::vector<std::string> command = words.own;
  for (const std::string& word : command_instead(words.program, resumed)) {
    command.push_back(word);
  }
  return (resumed.saved ? "resume: " : "run again: ") + quote_shell_words(command);
}

}  // namespace bp::launcher
