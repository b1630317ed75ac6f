// The ranks of one host on the agent's side: their processes, their output, and rank 0's stdin.
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
  std::unique_ptr<RankInput> input_;
  std::vector<Rank> ranks_;
};

}  // namespace bp::launcher
