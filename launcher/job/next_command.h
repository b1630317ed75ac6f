// The command line to go on with after a failure, to be copied into a shell. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bp::launcher {

// A whole command line of bprun's.
struct CommandWords {
  std::vector<std::string> own;      // bprun as it was called, and its options
  std::vector<std::string> program;  // with its arguments
};

// "resume: ..." where the program told the arguments with which it goes on (`told`, of
// kResumeArguments), else "run again: ..." with those that it had.
[[nodiscard]] std::string next_command(const CommandWords& words, std::string_view told);

}  // namespace bp::launcher
