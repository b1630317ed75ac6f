#include "launcher/supervise/orphans.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "launcher/process/process_tree.h"

namespace bp::launcher {

void kill_orphans_of(const std::string& job) {
  siginfo_t ended{};
  if (::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0) {
    return;  // without a child there is no need to read all processes of the machine in /proc
  }
  const std::string marker = concat("BP_JOB=", job);
  for (const ProcessEntry& process : descendants_of(::getpid())) {
    if (has_environment_entry(process.pid, marker.c_str())) {
      signal_process(process, SIGKILL);
    }
  }
}

}  // namespace bp::launcher
