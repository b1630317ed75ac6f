// All processes below an agent: reaps its children, stops what ranks have left behind, and kills.
//
// Orphans below the agent become its children (adopt_orphans()), so without a child there is no
// descendant.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

#include "launcher/agent/rank_processes.h"
#include "launcher/process/event_loop.h"
#include "launcher/process/oom_killer.h"

namespace bp::launcher {

class Descendants {
 public:
  // Reports each child that has ended to `ranks`, and calls `on_reaped` after each reap(). Both
  // references must outlive it.
  Descendants(EventLoop& loop, RankProcesses& ranks, std::function<void()> on_reaped);

  // A rank was started.
  void child_started() { none_left_ = false; }
  // Reaps all children that have ended. For SIGCHLD.
  void reap();
  // Asks all to end, except `spared`, and kills them after kLeftoverGrace. Does nothing the second
  // time.
  void stop_leftovers(std::optional<pid_t> spared);
  // Kills all, again and again until none is left.
  void kill_all();

  [[nodiscard]] bool none_left() const { return none_left_; }
  [[nodiscard]] bool reaping() const { return reaping_; }     // none_left() is not known yet
  [[nodiscard]] int leftovers() const { return leftovers_; }  // how many had to be stopped

 private:
  [[nodiscard]] std::string cause_of(const siginfo_t& end);

  EventLoop& loop_;
  RankProcesses& ranks_;
  std::function<void()> on_reaped_;
  OomKiller oom_killer_;
  bool reaping_ = false;
  bool killing_ = false;
  bool stopping_ = false;
  bool none_left_ = true;
  int leftovers_ = 0;
};

}  // namespace bp::launcher
