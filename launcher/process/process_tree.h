// Processes, and those below this one: nothing else is ever signalled.
#pragma once

#include <sys/types.h>

#include <vector>

namespace bp::launcher {

struct ProcessEntry {
  pid_t pid = -1;
  pid_t parent = -1;
};

// Makes orphans below this process its children instead of init's, so that the list below is
// complete.
void adopt_orphans();

[[nodiscard]] std::vector<pid_t> all_processes();  // that can be seen

// Every process below `root`, zombies left out, children before grandchildren.
[[nodiscard]] std::vector<ProcessEntry> descendants_of(pid_t root);

// Signals the process if it still is the one that was listed: a number that has meanwhile been
// given to a stranger is left alone.
void signal_process(const ProcessEntry& process, int signal);

// Whether the process was started with this NAME=VALUE in its environment; false where that cannot
// be read.
[[nodiscard]] bool has_environment_entry(pid_t pid, const char* entry);

}  // namespace bp::launcher
