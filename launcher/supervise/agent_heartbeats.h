// Heartbeats between bprun and the agents of a job, and the hosts from which nothing comes any
// more.
//
// A host counts as lost when its agent has been silent for --lost-after by its connection and has
// left no sign in the job's store either. Time in which this process itself was stopped does not
// count.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "launcher/agent/link.h"
#include "launcher/plan/job_plan.h"
#include "launcher/process/event_loop.h"
#include "launcher/process/own_pause.h"
#include "launcher/protocol/agent_messages.h"

namespace bp::launcher {

enum class HostPhase {
  connecting,  // no hello yet
  greeted,     // the agent has said hello
  ready,       // it has its JobSpec and can start its ranks
  done,        // its ranks have ended and their output is here
  lost,        // the connection ended before that, or nothing comes over it
};

// What AgentSet knows of the agent of one host.
struct HostAgent {
  HostPhase phase = HostPhase::connecting;
  std::unique_ptr<AgentLink> link;
  Hello hello;                             // from HostPhase::greeted on
  LinkLoss loss;                           // of a lost host
  std::string sign;                        // the last that it left in the job's store
  EventLoop::Clock::time_point sign_at{};  // when that was seen
  std::uint32_t unacknowledged = 0;        // bytes of output taken but not acknowledged to it
};

class AgentHeartbeats {
 public:
  using Clock = EventLoop::Clock;

  // Starts with the next round of `loop`. Everything passed must outlive it. `on_silent` is called
  // for a host that is lost, whose phase it must set.
  AgentHeartbeats(EventLoop& loop,
                  const JobPlan& plan,
                  std::vector<HostAgent>& hosts,
                  std::chrono::milliseconds lost_after,
                  std::function<void(std::size_t, const LinkLoss&)> on_silent);
  ~AgentHeartbeats() { stop(); }
  AgentHeartbeats(const AgentHeartbeats&) = delete;
  AgentHeartbeats& operator=(const AgentHeartbeats&) = delete;
  void stop();

  // `signs` returns what hosts have left in the job's store, by liveness_check.h's keys. It is
  // called only while a host is silent, as it takes a moment.
  void look_for_signs_by(std::function<std::map<std::string, std::string>()> signs) {
    signs_ = std::move(signs);
  }
  // This process was suspended until now. All agents had got Suspend before.
  void resumed();
  // Notices a pause of this process that has just ended.
  void look_for_pause();

  [[nodiscard]] std::chrono::milliseconds lost_after() const { return lost_after_; }
  [[nodiscard]] Clock::time_point awake_since() const { return awake_since_; }
  // The pause that ended at awake_since(); 0 if there was none, or the agents knew of it.
  [[nodiscard]] std::chrono::milliseconds last_pause() const { return last_pause_; }

 private:
  void beat();
  void look();
  void look_for_signs();
  void look_for_silence();
  [[nodiscard]] Clock::duration silence_of(const HostAgent& host) const;
  [[nodiscard]] bool watched(std::size_t host) const;

  EventLoop& loop_;
  const JobPlan& plan_;
  std::vector<HostAgent>& hosts_;
  const std::chrono::milliseconds lost_after_;
  std::function<void(std::size_t, const LinkLoss&)> on_silent_;
  std::function<std::map<std::string, std::string>()> signs_;
  OwnPause own_pause_;
  Clock::time_point awake_since_ = Clock::now();
  std::chrono::milliseconds last_pause_{0};
  EventLoop::TimerId beat_timer_ = 0;
  EventLoop::TimerId look_timer_ = 0;
};

}  // namespace bp::launcher
