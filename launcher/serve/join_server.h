// --serve: waits until the machines that join have as many slots as the job has ranks.
//
// The server refuses a machine whose request contradicts the job or the machines that have joined,
// and keeps waiting. JoinListener refuses connections that do not prove that they know the key.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "bp/environment.h"
#include "launcher/agent/channel.h"
#include "launcher/cli/bprun_options.h"
#include "launcher/process/event_loop.h"
#include "launcher/process/signals.h"
#include "launcher/serve/joined_plan.h"

namespace bp::launcher {

class JoinListener;

class JoinServer {
 public:
  // Listens from here on. `options` must outlive it. Throws invalid_argument if there is no key,
  // the port is taken, or this machine's own slots contradict -n.
  explicit JoinServer(const Options& options);
  ~JoinServer();
  JoinServer(const JoinServer&) = delete;
  JoinServer& operator=(const JoinServer&) = delete;

  // Prints on stderr where it listens and which machines join and leave. Returns once all slots are
  // there, or what to print and the exit code after --start-timeout or a signal. Call it once.
  [[nodiscard]] std::variant<JoinResult, EarlyExit> run();
  // For --dry-run: what run() would wait for, as text or JSON.
  [[nodiscard]] std::string outlook() const;

 private:
  void admit(Channel::Ends ends, const std::string& address);
  void on_message(JoinCandidate& candidate, const ToLauncher& message);
  void on_closed(JoinCandidate& candidate);
  void join(JoinCandidate& candidate, const Join& request);
  [[nodiscard]] std::string objection(const JoinCandidate& candidate,
                                      const SlotOffer& offer,
                                      const Join& request) const;
  void refuse(JoinCandidate& candidate, int exit_code, const std::string& why);
  [[nodiscard]] std::string unused_name(const std::string& host) const;

  void beat();
  void check(JoinCandidate& candidate);

  [[nodiscard]] std::vector<SlotOffer> offers() const { return offers_of(own_, candidates_); }
  [[nodiscard]] const JoinCandidate* awaited_for_gpus() const;
  [[nodiscard]] bool complete() const;
  [[nodiscard]] std::string invitation() const;  // the command to run on each other machine
  [[nodiscard]] JoinResult result();
  [[nodiscard]] EarlyExit too_late();
  [[nodiscard]] EarlyExit give_up(int exit_code, const std::string& why);

  std::unique_ptr<EventLoop> loop_ = std::make_unique<EventLoop>();
  const Options& options_;
  const int world_;
  const JobKey key_;
  const SlotOffer own_;
  SignalFd signals_;
  std::unique_ptr<JoinListener> listener_;
  std::list<JoinCandidate> candidates_;  // in the order in which they were admitted
  EventLoop::TimerId heartbeat_ = 0;
  int signal_ = 0;  // that asked bprun to stop
};

}  // namespace bp::launcher
