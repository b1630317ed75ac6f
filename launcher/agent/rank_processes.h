// The ranks of one host on the agent's side: their processes, their output, and rank 0's stdin; and
// all processes below an agent, which are the ranks and what these have left behind.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/system/fd.h"
#include "launcher/process/event_loop.h"
#include "launcher/process/oom_killer.h"
#include "launcher/process/pump.h"
#include "launcher/protocol/agent_messages.h"

namespace bp::launcher {

// The bytes that an agent may still send before bprun sends OutputTaken.
class OutputWindow {
 public:
  [[nodiscard]] std::uint32_t left() const { return left_; }
  void use(std::uint32_t bytes) { left_ -= bytes; }
  void give_back(std::uint32_t bytes) { left_ += bytes; }

 private:
  std::uint32_t left_ = kOutputWindow;
};

// Reads one output stream of one rank and sends it to bprun as far as the window allows.
class RankOutput {
 public:
  // `loop` and `window` must outlive it.
  RankOutput(EventLoop& loop,
             OutputWindow& window,
             std::function<void(Output)> send,
             int rank,
             Stream stream,
             Fd pipe);
  ~RankOutput() { close(); }
  RankOutput(const RankOutput&) = delete;
  RankOutput& operator=(const RankOutput&) = delete;

  [[nodiscard]] bool open() const { return static_cast<bool>(pipe_); }
  // Sends what can be read now, within the window.
  void drain();
  // No process writes any more. Sends the rest and then the end of the stream, at once or when the
  // window allows.
  void finish();
  void update_interest();  // after the window has changed

 private:
  [[nodiscard]] bool read_some();  // returns whether there may be more
  void end();
  void close();

  EventLoop& loop_;
  OutputWindow& window_;
  std::function<void(Output)> send_;
  int rank_;
  Stream stream_;
  Fd pipe_;
  bool finishing_ = false;
};

class RankProcesses {
 public:
  struct Listener {
    std::function<void(const ToLauncher&)> send;
    std::function<void()> output_ended;  // a stream of a rank has ended
  };
  // `loop` must outlive it.
  RankProcesses(EventLoop& loop, Listener listener);

  // Starts rank `spec` of `job` from the program in `file`, which inherits `key_fd` with the job's
  // key. Sends Started and returns true, or sends StartFailed and returns false. Throws io if no
  // pipe can be made.
  [[nodiscard]] bool start(const JobSpec& job,
                           const RankSpec& spec,
                           const std::string& file,
                           int key_fd);
  // Signals the process group of each rank that runs.
  void signal(int number) const;
  // A child of this process has ended and was reaped. If it was a rank, sends its output as far as
  // the flow-control window allows, and then Exited.
  void child_ended(pid_t pid, int status, std::string cause);
  // No process writes any more. Returns true once all output and its end have been sent.
  [[nodiscard]] bool finish_output();

  void push_input(std::string_view data);
  void output_taken(std::uint32_t bytes);

  [[nodiscard]] bool none_started() const { return ranks_.empty(); }
  [[nodiscard]] bool any_running() const;

 private:
  struct Rank {
    int number = 0;
    pid_t pid = -1;
    bool running = true;
    std::unique_ptr<RankOutput> out;
    std::unique_ptr<RankOutput> err;
  };
  [[nodiscard]] std::unique_ptr<RankOutput> read_output(int rank, Stream stream, Fd pipe);

  EventLoop& loop_;
  Listener listener_;
  OutputWindow window_;
  std::unique_ptr<FdSink> input_;  // of rank 0
  std::vector<Rank> ranks_;
};

// Reaps the agent's children, stops what ranks have left behind, and kills. Orphans below the agent
// become its children (adopt_orphans()), so without a child there is no descendant.
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
