// The launcher's end of one agent: its process (or the ssh that leads to it), its frames, and what
// ssh complained about.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "launcher/agent/channel.h"
#include "launcher/process/child.h"
#include "launcher/process/event_loop.h"
#include "launcher/process/spawn.h"
#include "launcher/protocol/messages.h"

namespace bp::launcher {

// How a connection ended that should not have.
struct LinkLoss {
  bool before_hello = true;
  bool let_in = false;                   // ssh said that the login worked
  int tries = 1;                         // to log in
  int status = 0;                        // of the process, as from waitpid
  std::string problem = {};              // what was wrong with its frames; empty: they just ended
  std::string last_word = {};            // why the agent left: Leaving::why
  bool gave_up_on_us = false;            // because it heard nothing of this process
  bool silent = false;                   // nothing came any more, by whatever way
  std::vector<std::string> errors = {};  // the last lines of ssh and of the remote shell
};

class AgentLink {
 public:
  struct Listener {
    std::function<void(ToLauncher&)> on_message;
    std::function<void(const LinkLoss&)> on_lost;  // once, and nothing after it
  };

  // An agent on this machine, as a copy of this process: before it has other threads.
  AgentLink(EventLoop& loop, Listener listener);
  // Starts `argv`; its first word is looked for on PATH. Throws io when it cannot be started. Where
  // sshd has no room for another login, this tries again for some seconds.
  AgentLink(EventLoop& loop, const std::vector<std::string>& argv, Listener listener);
  // To an agent that has come by itself and said hello already, over `channel`.
  AgentLink(EventLoop& loop, std::unique_ptr<Channel> channel, Listener listener);
  ~AgentLink();  // hangs up, and kills the process if it is still there
  AgentLink(const AgentLink&) = delete;
  AgentLink& operator=(const AgentLink&) = delete;

  void send(const ToAgent& message) { channel_->send(encode(message)); }
  [[nodiscard]] bool closed() const { return closed_; }  // lost, or hung up
  [[nodiscard]] bool let_in() const;                     // ssh has said that the login worked
  [[nodiscard]] EventLoop::Clock::time_point last_heard() const { return channel_->last_heard(); }
  // A connection of our own is not to break before we give up the host.
  void outlast(std::chrono::milliseconds silence) { channel_->outlast(silence); }
  // Lets the agent go: it kills what it still has and ends. No loss is reported any more.
  void hang_up();
  // For that end, after hang_up(). Kills what has not ended by then, and at once an ssh behind
  // which there is no agent yet.
  void wait(Deadline deadline);

 private:
  struct Started;
  void take(Started started);
  [[nodiscard]] bool try_again();
  void start_again();
  static Started start(const std::vector<std::string>& argv);
  static Started start_copy();

  [[nodiscard]] Channel::Listener channel_listener();
  void handle(const Frame& frame);
  void read_errors();
  void channel_closed(const std::string& problem);
  void report_loss();

  EventLoop& loop_;
  Listener listener_;
  std::vector<std::string> argv_;
  std::unique_ptr<Child> child_;  // none behind an agent that has come by itself
  std::unique_ptr<Channel> channel_;
  Fd errors_;
  std::string error_text_;
  LinkLoss loss_;
  EventLoop::TimerId loss_timer_ = 0;
  EventLoop::TimerId retry_timer_ = 0;
  bool closed_ = false;
};

}  // namespace bp::launcher
