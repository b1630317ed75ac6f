// The command that resumes a run, to be copied into a shell.
#pragma once

#include <string>
#include <vector>

#include "base/resume_words.h"
#include "bp/store.h"

namespace bp::trainer {

// With which arguments to call the program again. Once the run has saved a checkpoint, --resume
// auto replaces any other value. Before that, it replaces --resume never, which refuses a folder
// that exists; the path of another run's checkpoint stays.
struct ResumeQuestion {
  std::vector<std::string> arguments;  // as they were typed
  std::string resume = "auto";         // the value of --resume, from the command line or a file
  bool saved = false;                  // the run has a checkpoint
};
[[nodiscard]] ResumeWords arguments_again(const ResumeQuestion& question);

// `command`: bprun's own command (see kLaunchCommand), or "" if bprun did not start `program`.
struct Launched {
  std::string program;  // as the user typed it
  std::string command;
};
[[nodiscard]] std::string command_again(const Launched& launched, const ResumeWords& words);

// Tells bprun the command that resumes a run, which its report shows if the job fails. `store`:
// that of the world. A world of one rank has none (null); the function then connects to the store
// that bprun gave the process, if bprun started it, for a few seconds at most. Does not throw if
// the store cannot be reached: only the report lacks the command then. Any thread may call it.
void tell_bprun(Store* store, const ResumeWords& words);

}  // namespace bp::trainer
