// Runs trials of known durations on a pool, by a simulated clock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "launcher/sweep/placement/trial_placement.h"

namespace bp::launcher::sweep {

struct SimulatedTrial {
  int slots = 1;
  Spread spread = Spread::host;
  int seconds = 1;
  int arrives = 0;  // when it begins to wait
};

class ClockSimulation {
 public:
  ClockSimulation(const std::vector<int>& slots, std::vector<SimulatedTrial> trials)
      : trials_(std::move(trials)), started_at_(trials_.size(), -1) {
    for (const int count : slots) pool_.push_back({std::to_string(pool_.size()), count, count});
    for (std::size_t i = 0; i < trials_.size(); ++i) {
      arrivals_[trials_[i].arrives].push_back(static_cast<int>(i));
    }
  }

  // Called after each call of starts(), with what it returned.
  std::function<void(const std::vector<Start>&)> after_starts = [](const auto&) {};

  // Returns when the last trial has ended.
  int run() {
    while (!arrivals_.empty() || !ends_.empty()) {
      now_ = next_event();
      free_ended();
      if (const auto found = arrivals_.find(now_); found != arrivals_.end()) {
        for (const int trial : found->second) {
          const SimulatedTrial& one = trials_[static_cast<std::size_t>(trial)];
          waiting_.push_back({trial, one.slots, one.spread});
        }
        arrivals_.erase(found);
      }
      const auto started = starts(pool_, waiting_);
      for (const Start& start : started) begin(start);
      after_starts(started);
    }
    return now_;
  }

  [[nodiscard]] int now() const { return now_; }
  [[nodiscard]] const std::vector<HostSlots>& pool() const { return pool_; }
  [[nodiscard]] const std::vector<Demand>& waiting() const { return waiting_; }
  [[nodiscard]] const std::vector<SimulatedTrial>& trials() const { return trials_; }
  [[nodiscard]] const std::vector<int>& started_at() const { return started_at_; }  // -1: never

 private:
  using End = std::pair<int, std::vector<Part>>;
  struct Later {
    bool operator()(const End& a, const End& b) const { return a.first > b.first; }
  };

  [[nodiscard]] int next_event() const {
    if (ends_.empty()) return arrivals_.begin()->first;
    if (arrivals_.empty()) return ends_.top().first;
    return std::min(arrivals_.begin()->first, ends_.top().first);
  }

  void free_ended() {
    for (; !ends_.empty() && ends_.top().first == now_; ends_.pop()) {
      for (const Part& part : ends_.top().second) pool_[part.host].free += part.slots;
    }
  }

  void begin(const Start& start) {
    const auto trial = static_cast<std::size_t>(start.trial);
    started_at_[trial] = now_;
    ends_.emplace(now_ + trials_[trial].seconds, start.parts);
  }

  int now_ = 0;
  std::vector<SimulatedTrial> trials_;
  std::vector<int> started_at_;
  std::vector<HostSlots> pool_;
  std::vector<Demand> waiting_;
  std::map<int, std::vector<int>> arrivals_;
  std::priority_queue<End, std::vector<End>, Later> ends_;
};

}  // namespace bp::launcher::sweep
