// What an agent knows of whether bprun is alive: by its usual connection and, when nothing comes by
// that, by new ones (liveness_check.h). Alive by either is alive.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <optional>
#include <string>

#include "launcher/agent/liveness_check.h"
#include "launcher/process/event_loop.h"
#include "launcher/protocol/messages.h"
#include "launcher/protocol/timing.h"

namespace bp::launcher {

class LauncherWatch {
 public:
  using Time = EventLoop::Clock::time_point;

  // `loop` must outlive it. `lost_after` holds until bprun names another.
  LauncherWatch(EventLoop& loop, std::chrono::milliseconds lost_after)
      : loop_(loop), lost_after_(lost_after) {}

  void take(const Heartbeat& heartbeat);
  // From here on there is something to connect to.
  void check_at(LivenessTarget target) { target_ = std::move(target); }
  // Once in kLookEvery. `heard`: when something last came by the usual connection.
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
  Time reached_{};                 // by a check
  Time awake_since_ = last_look_;  // after a pause of our own
  EventLoop::Clock::duration silence_{0};
  bool missed_ = false;  // bprun says that it hears nothing of us
  int failures_ = 0;     // of checks since one was answered
  std::string problem_;  // of the last of them
};

}  // namespace bp::launcher
