// Whether the kernel has killed a process because memory ran out: a SIGKILL of its own does not
// say.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"

namespace bp::launcher {

class OomKiller {
 public:
  OomKiller();  // what it has done until now does not count

  // About a child that SIGKILL has ended and that is not reaped yet: what the kernel's log says of
  // it, else the counts of its control group. Empty where neither can be read or blames the killer.
  [[nodiscard]] std::string word_about(pid_t pid);

 private:
  void read_log();
  [[nodiscard]] std::string word_of_log(pid_t pid);
  [[nodiscard]] std::string word_of_group(const std::string& folder);

  Fd log_;                             // empty where it may not be read
  std::vector<std::string> records_;   // of it, about kills
  std::string own_group_;              // folder of our control group; empty: none that counts
  std::map<std::string, long> known_;  // kills by folder
};

// What a record of the kernel's log says about the process; empty: nothing.
[[nodiscard]] std::string oom_word(std::string_view record, pid_t pid);

// From a group's memory.events (version 2) or memory.oom_control (version 1); nothing where there
// is no count.
[[nodiscard]] std::optional<long> oom_kills(std::string_view text);

// The folder of the memory group that `membership` (/proc/PID/cgroup) tells of, by the mounts in
// `mounts` (/proc/PID/mountinfo); empty: there is none.
[[nodiscard]] std::string memory_group(std::string_view membership, std::string_view mounts);

}  // namespace bp::launcher
