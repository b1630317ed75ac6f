// bprun's end of the connection to one agent: the agent's process or the ssh that leads to it, the
// messages, and the error messages of ssh.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/agent/channel.h"
#include "launcher/process/child.h"
#include "launcher/process/event_loop.h"
#include "launcher/process/pump.h"
#include "launcher/process/spawn.h"
#include "launcher/protocol/agent_messages.h"

namespace bp::launcher {

// How the connection to an agent was lost.
struct LinkLoss {
  bool before_hello = true;
  bool let_in = false;                    // ssh reported a successful login
  int tries = 1;                          // how often ssh was started
  int status = 0;                         // of the process, as from waitpid
  std::string problem = {};               // what was wrong with its frames; empty: nothing
  std::string last_word = {};             // why the agent left: Leaving::why
  bool heard_nothing_from_bprun = false;  // the reason for which the agent left
  bool silent = false;                    // nothing came any more, nor by the store
  std::vector<std::string> errors = {};   // the last lines of ssh and of the remote shell
};

// A process behind pipes.
struct PipedProcess {
  Child child;
  Fd from_it;
  Fd to_it;
  Fd errors;
};
// Starts `argv` and looks up its first word in PATH. Throws io if it cannot be started.
[[nodiscard]] PipedProcess start_piped(const std::vector<std::string>& argv, bool die_with_parent);
// The last lines of ssh and of the remote shell, without those that report no trouble.
[[nodiscard]] std::vector<std::string> last_complaints(const std::string& text, std::size_t most);

class AgentLink {
 public:
  struct Listener {
    std::function<void(ToLauncher&)> on_message;
    std::function<void(const LinkLoss&)> on_lost;  // the last call
  };

  // Starts an agent on this machine as a fork of this process, which must not have other threads
  // yet.
  AgentLink(EventLoop& loop, Listener listener);
  // Starts `argv` and looks up its first word in PATH. Throws io if it cannot be started. If sshd
  // takes no more logins at the time, tries again for some seconds.
  AgentLink(EventLoop& loop, const std::vector<std::string>& argv, Listener listener);
  // For an agent that has joined and said hello over `channel`.
  AgentLink(EventLoop& loop, std::unique_ptr<Channel> channel, Listener listener);
  ~AgentLink();  // hangs up, and kills the process if it still runs
  AgentLink(const AgentLink&) = delete;
  AgentLink& operator=(const AgentLink&) = delete;

  void send(const ToAgent& message) { channel_->send(encode(message)); }
  [[nodiscard]] bool closed() const { return closed_; }  // lost, or hung up
  [[nodiscard]] bool let_in() const;                     // ssh has reported a successful login
  [[nodiscard]] EventLoop::Clock::time_point last_heard() const { return channel_->last_heard(); }
  // Channel::outlast()
  void outlast(std::chrono::milliseconds outage) { channel_->outlast(outage); }
  // Closes the connection, upon which the agent kills its processes and ends. on_lost is not called
  // any more.
  void hang_up();
  // Waits, after hang_up(), for the agent's process or its ssh to end, and kills it if it has not
  // ended by `deadline`. Kills an ssh at once if no agent has answered behind it.
  void wait(Deadline deadline);

 private:
  void take(PipedProcess started);
  [[nodiscard]] bool try_again();
  void start_again();

  [[nodiscard]] Channel::Listener channel_listener();
  void handle(const Frame& frame);
  void read_errors(std::string_view bytes);
  void channel_closed(const std::string& problem);
  void report_loss();

  EventLoop& loop_;
  Listener listener_;
  std::vector<std::string> argv_;
  std::unique_ptr<Child> child_;  // null for an agent that has joined
  std::unique_ptr<Channel> channel_;
  std::unique_ptr<FdSource> errors_;
  std::string error_text_;
  LinkLoss loss_;
  EventLoop::TimerId loss_timer_ = 0;
  EventLoop::TimerId retry_timer_ = 0;
  bool closed_ = false;
};

}  // namespace bp::launcher
