// The command line that resumes or repeats a job after a failure, ready for a shell. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bp::launcher {

// A command line of bprun in two parts.
struct CommandWords {
  std::vector<std::string> own;      // bprun, as it was called, and its options
  std::vector<std::string> program;  // with its arguments
};

// Returns "resume: COMMAND" if the program has reported that it saved something to resume from,
// else "run again: COMMAND". `reported` is the value of the store's key kResumeArguments, with the
// arguments to use; if it is empty, COMMAND has the arguments of `words`.
[[nodiscard]] std::string next_command(const CommandWords& words, std::string_view reported);

}  // namespace bp::launcher
