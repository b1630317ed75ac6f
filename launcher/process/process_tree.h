// Lists processes and signals descendants of this process; bprun never signals any other process.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace bp::launcher {

struct ProcessEntry {
  pid_t pid = -1;
  pid_t parent = -1;
};

// Makes this process, not init, the parent of orphans below it, so that descendants_of() also finds
// those.
void adopt_orphans();

[[nodiscard]] std::vector<pid_t> all_processes();  // all that /proc shows

// Returns every live descendant of `root`, parents before their children.
[[nodiscard]] std::vector<ProcessEntry> descendants_of(pid_t root);

// Signals the process if it is still the listed one. A number that the system has since given to
// another process is left alone.
void signal_process(const ProcessEntry& process, int signal);

// Returns whether the process was started with this NAME=VALUE in its environment; false if the
// environment cannot be read.
[[nodiscard]] bool has_environment_entry(pid_t pid, const char* entry);

// Kills the processes below this one that belong to `job`: they became children of bprun when their
// agent was killed. Leaves other children alone, such as the master process of a shared ssh
// connection.
void kill_orphans_of(const std::string& job);

}  // namespace bp::launcher
