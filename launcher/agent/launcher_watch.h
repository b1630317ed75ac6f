// Watches whether bprun is alive: by heartbeats on the agent's connection and, while none arrive,
// by new connections (liveness_check.h). Either of them suffices.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <utility>

#include "launcher/agent/liveness_check.h"
#include "launcher/process/event_loop.h"
#include "launcher/protocol/agent_messages.h"
#include "launcher/protocol/timing.h"

namespace bp::launcher {

class LauncherWatch {
 public:
  using Time = EventLoop::Clock::time_point;

  // bprun is lost after a silence of `lost_after`, until a heartbeat brings another value. `loop`
  // must outlive this.
  LauncherWatch(EventLoop& loop, std::chrono::milliseconds lost_after)
      : loop_(loop), lost_after_(lost_after) {}

  void take(const Heartbeat& heartbeat);
  // From here on new connections can go to `target`.
  void check_at(LivenessTarget target) { target_ = std::move(target); }
  // The agent calls this every kLookEvery. `heard` is the time at which bytes last arrived on its
  // connection.
  void look(Time heard);

  [[nodiscard]] std::chrono::milliseconds lost_after() const { return lost_after_; }
  [[nodiscard]] bool lost() const { return silence_ > lost_after_; }  // as of the last look
  // "for 9.0 s, not even by 12 new connections to 10.0.0.1:4711 (no answer)"
  [[nodiscard]] std::string silence_text() const;

 private:
  void check(Time now);

  EventLoop& loop_;
  std::chrono::milliseconds lost_after_;
  std::optional<LivenessTarget> target_;
  std::list<LivenessCheck> checks_;
  std::uint64_t signs_ = 0;
  Time next_check_{};
  Time last_look_ = EventLoop::Clock::now();
  Time reached_{};                 // when a check last reached bprun
  Time awake_since_ = last_look_;  // the end of the last pause of this process
  EventLoop::Clock::duration silence_{0};
  bool missed_ = false;  // bprun reports that it hears nothing from this agent
  int failures_ = 0;     // checks in a row that failed
  std::string problem_;  // of the last failed check
};

}  // namespace bp::launcher
