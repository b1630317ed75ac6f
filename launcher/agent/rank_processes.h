// The ranks of one host, on the agent's side: their processes, what they print, and rank 0's stdin.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/agent/rank_input.h"
#include "launcher/agent/rank_output.h"
#include "launcher/process/event_loop.h"
#include "launcher/protocol/messages.h"

namespace bp::launcher {

class RankProcesses {
 public:
  struct Listener {
    std::function<void(const ToLauncher&)> send;
    std::function<void()> output_ended;  // one stream of one rank
  };
  // `loop` must outlive it.
  RankProcesses(EventLoop& loop, Listener listener);

  // Starts rank `spec` of `job` from the program in `file`, with the job's key behind `key_fd`, and
  // tells the launcher: Started, or StartFailed and false. Throws io where there is no pipe.
  [[nodiscard]] bool start(const JobSpec& job,
                           const RankSpec& spec,
                           const std::string& file,
                           int key_fd);
  // To the group of each that runs.
  void signal(int number) const;
  // A child of ours has ended and was reaped. If it was a rank, its output is passed on as far as
  // the window allows, and then its end.
  void child_ended(pid_t pid, int status, std::string cause);
  // Nobody writes any more: true once all output has been passed on, and its end.
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
  std::unique_ptr<RankInput> input_;
  std::vector<Rank> ranks_;
};

}  // namespace bp::launcher
