#include "launcher/agent/descendants.h"

#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "launcher/process/process_tree.h"
#include "launcher/protocol/timing.h"

namespace bp::launcher {

Descendants::Descendants(EventLoop& loop, RankProcesses& ranks, std::function<void()> on_reaped)
    : loop_(loop), ranks_(ranks), on_reaped_(std::move(on_reaped)) {}

void Descendants::reap() {
  siginfo_t end{};
  int found = 0;
  reaping_ = true;
  while ((found = ::waitid(P_ALL, 0, &end, WEXITED | WNOHANG | WNOWAIT)) == 0 && end.si_pid != 0) {
    std::string cause =
        cause_of(end);  // before the process is reaped: it still has its /proc entry
    int status = 0;
    ::waitpid(end.si_pid, &status, 0);
    ranks_.child_ended(end.si_pid, status, std::move(cause));
  }
  reaping_ = false;
  none_left_ = found < 0;
  on_reaped_();
}

std::string Descendants::cause_of(const siginfo_t& end) {
  const bool killed = end.si_code == CLD_KILLED && end.si_status == SIGKILL;
  return killed && !killing_ ? oom_killer_.explain_kill(end.si_pid) : "";
}

void Descendants::stop_leftovers(std::optional<pid_t> spared) {
  if (std::exchange(stopping_, true) || killing_) {
    return;
  }
  auto left = descendants_of(::getpid());
  std::erase_if(left, [spared](const ProcessEntry& process) { return process.pid == spared; });
  leftovers_ = static_cast<int>(left.size());
  for (const ProcessEntry& process : left) {
    signal_process(process, SIGTERM);
    signal_process(process, SIGCONT);
  }
  loop_.after(kLeftoverGrace, [this] { kill_all(); });
}

// A process may fork between the listing and the signal, so one pass is not enough.
void Descendants::kill_all() {
  killing_ = true;
  reap();
  if (none_left_) {
    return;
  }
  ranks_.signal(SIGKILL);
  for (const ProcessEntry& process : descendants_of(::getpid())) {
    signal_process(process, SIGKILL);
  }
  loop_.after(kKillAgain, [this] { kill_all(); });
}

}  // namespace bp::launcher
