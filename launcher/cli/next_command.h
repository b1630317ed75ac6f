// The command line to continue with after a failure, to be copied into a shell. Pure.
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

// "resume: ..." where the program told that it has saved something to resume from, else "run again:
// ...", with the arguments that it told. `told`: the value of kResumeArguments, "" where there is
// none; the arguments are then those that the program had.
[[nodiscard]] std::string next_command(const CommandWords& words, std::string_view told);

}  // namespace bp::launcher
