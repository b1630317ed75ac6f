// The command that resumes a run, to be copied into a shell.
#pragma once

#include <string>
#include <vector>

#include "base/resume_words.h"

namespace bp::trainer {

// How to call the program with these arguments the next time. `resume`: the value of --resume that
// held, from the command line or a file. Once something is saved, --resume auto takes the place of
// any other value. Before that, it takes the place of --resume never, which a folder that exists
// refuses; another run's checkpoint is named again.
struct ResumeQuestion {
  std::vector<std::string> arguments;  // as they were typed
  std::string resume = "auto";
  bool saved = false;
};
[[nodiscard]] ResumeWords arguments_again(const ResumeQuestion& question);

// `launched`: the command of bprun (see kLaunchCommand), or "" where that did not start `program`.
struct Launched {
  std::string program;  // as it was called
  std::string command;
};
[[nodiscard]] std::string command_again(const Launched& launched, const ResumeWords& words);

}  // namespace bp::trainer
