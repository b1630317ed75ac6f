// The asking end of a probe: tries each address of each other host within a time limit. A host that
// has answered may take longer for the exchange of large packets, as long as it proceeds.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "bp/environment.h"
#include "launcher/process/event_loop.h"
#include "launcher/protocol/probe.h"

namespace bp::launcher {

class ProbeRound {
 public:
  // No round takes longer than this many limits.
  static constexpr int kMostLimits = 10;

  // Calls `done` once, from the loop: when every address is tried, when `limit` has passed, or soon
  // after each peer has been reached, so that a dead address does not delay every start. `done`
  // must not destroy the round.
  ProbeRound(EventLoop& loop,
             const JobKey& key,
             const std::vector<ProbePeer>& peers,
             std::chrono::milliseconds limit,
             std::function<void(const ProbeProblems&)> done);
  ~ProbeRound();
  ProbeRound(const ProbeRound&) = delete;
  ProbeRound& operator=(const ProbeRound&) = delete;

 private:
  struct Attempt;
  [[nodiscard]] std::chrono::milliseconds elapsed() const;
  void give_up();
  [[nodiscard]] bool proceeds(Attempt& attempt) const;
  [[nodiscard]] std::string problem_of(const Attempt& attempt) const;
  void shorten_limit();
  void start_some();
  void connect(Attempt& attempt);
  void proceed(Attempt& attempt, short events);
  void ask(Attempt& attempt);
  void exchange(Attempt& attempt, short events);
  void end(Attempt& attempt, const std::string& problem);

  EventLoop& loop_;
  const JobKey key_;
  const std::chrono::milliseconds limit_;
  std::function<void(const ProbeProblems&)> done_;
  ProbeProblems problems_;
  std::vector<std::unique_ptr<Attempt>> attempts_;
  std::size_t started_ = 0;
  std::size_t ended_ = 0;
  std::set<std::size_t> reached_;  // peers that some address reached
  bool limit_shortened_ = false;
  const EventLoop::Clock::time_point began_ = EventLoop::Clock::now();
  EventLoop::TimerId timer_ = 0;
};

}  // namespace bp::launcher
