// Finds out whether the kernel killed a process because memory ran out. The exit status only shows
// SIGKILL.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/system/fd.h"

namespace bp::launcher {

class OomKiller {
 public:
  OomKiller();  // kills before the construction do not count

  // Explains the end of a child that SIGKILL ended and that is not reaped yet: from the kernel's
  // log, else from the kill counts of its control group. Returns an empty text if neither can be
  // read or neither shows such a kill.
  [[nodiscard]] std::string explain_kill(pid_t pid);

 private:
  void read_log();
  [[nodiscard]] std::string explanation_in_log(pid_t pid);
  [[nodiscard]] std::string explanation_of_groups(const std::vector<std::string>& folders);

  Fd log_;                               // empty if this process may not read the log
  std::vector<std::string> records_;     // the log's records about kills
  std::vector<std::string> own_groups_;  // bprun's own memory control group and those around it
  std::map<std::string, long> known_;    // number of kills already explained, by folder
};

// Returns what a record of the kernel's log says about the process; empty if the record is not
// about it.
[[nodiscard]] std::string explain_log_record(std::string_view record, pid_t pid);

// Returns the number of kills from the text of a group's memory.events (version 2) or
// memory.oom_control (version 1); nothing if the text has no such count.
[[nodiscard]] std::optional<long> oom_kills(std::string_view text);

}  // namespace bp::launcher
