// --serve: waits until the machines that join have as many slots as the job has ranks.
//
// A machine that contradicts those that are there is told so and sent away; the others go on
// waiting. So is whoever does not know the key.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/deadline.h"
#include "base/refusals.h"
#include "launcher/agent/join_handshake.h"
#include "launcher/cli/options.h"
#include "launcher/gpus/gpu.h"
#include "launcher/hosts/slot_offers.h"
#include "launcher/plan/plan.h"
#include "launcher/process/event_loop.h"
#include "launcher/process/signals.h"
#include "launcher/serve/joined_machines.h"

namespace bp::launcher {

struct JoinResult {
  JobPlan plan;
  JoinedMachines machines;
};

class JoinServer {
 public:
  // Listens from here on. `options` must outlive it. Throws invalid_argument where there is no key,
  // the port is taken, or this machine's own slots do not fit.
  explicit JoinServer(const Options& options);
  JoinServer(const JoinServer&) = delete;
  JoinServer& operator=(const JoinServer&) = delete;

  // Says on stderr where it listens and who comes and goes.
  // Once, and nothing after it.
  [[nodiscard]] std::variant<JoinResult, EarlyExit> run();
  // --dry-run in its place: what would be waited for, as text or JSON.
  [[nodiscard]] std::string outlook() const;

 private:
  struct JoinCandidate {
    std::unique_ptr<Channel> channel;
    Hello hello;
    std::string address;                // where it came from
    std::optional<SlotOffer> offer;     // once it has joined
    std::string gpus;                   // those it is to have, as --gpus says it; empty: not asked
    std::optional<GpuList> there;       // those it has
    std::optional<Deadline> leaves_by;  // it was told to
    bool gone = false;
  };

  struct Stranger {
    std::string address;
    std::unique_ptr<JoinHandshake> handshake;
  };

  void accept_some();
  void pause_accepting();
  void refuse(std::list<Stranger>::iterator stranger, const std::string& why);
  void admit(Channel::Ends ends, const std::string& address);
  void on_message(JoinCandidate& candidate, const ToLauncher& message);
  void join(JoinCandidate& candidate, const Join& request);
  [[nodiscard]] const JoinCandidate* awaited_for_gpus()
      const;  // somebody who has not told what it has
  [[nodiscard]] std::string objection(const JoinCandidate& candidate,
                                      const SlotOffer& offer,
                                      const Join& request) const;
  void send_away(JoinCandidate& candidate, int exit_code, const std::string& why);
  void on_closed(JoinCandidate& candidate);
  void beat();
  void look_at(JoinCandidate& candidate);
  [[nodiscard]] std::vector<SlotOffer> offers() const;  // this machine's first
  [[nodiscard]] std::string invitation() const;         // what to type elsewhere
  [[nodiscard]] std::string new_name(const std::string& host) const;
  [[nodiscard]] JoinResult gathered();
  void choose_gpus(JobPlan& plan, const std::vector<JoinCandidate*>& seated) const;
  void stop_listening();
  [[nodiscard]] EarlyExit too_late();
  [[nodiscard]] EarlyExit give_up(int exit_code, const std::string& why);

  std::unique_ptr<EventLoop> loop_ = std::make_unique<EventLoop>();
  const Options& options_;
  const int world_;
  const JobKey key_;
  const SlotOffer own_;
  SignalFd signals_;
  Fd listener_;
  std::list<Stranger> strangers_;  // oldest first
  Refusals refusals_;
  EventLoop::TimerId pause_ = 0;
  std::list<JoinCandidate> candidates_;  // in the order of their coming
  EventLoop::TimerId heartbeat_ = 0;
  int signal_ = 0;  // that asked us to stop
};

}  // namespace bp::launcher
