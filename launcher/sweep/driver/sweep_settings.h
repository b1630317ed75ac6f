// The settings of a sweep come from SPACE and the command line.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "launcher/cli/bprun_options.h"
#include "launcher/plan/job_plan.h"
#include "launcher/sweep/space/space.h"

namespace bp::launcher::sweep {

struct SweepSettings {
  Space space = {};             // with metric and direction, known or not needed
  std::string space_text = {};  // SPACE itself
  std::string folder = {};
  std::vector<std::string> program = {};  // with {NAME}; a block of SPACE may have its own
  std::vector<bool> trainers = {};        // by block: its program is bert_train or extends it
  Options bprun = {};  // of its options, those about hosts, times and variables of each trial
  JobPlan plan = {};   // the hosts, and how to reach them
  std::optional<int> max_trials = {};
  std::optional<std::chrono::milliseconds> max_time = {};
  std::optional<Until> until = {};
  int max_restarts = 0;  // of each trial
};

[[nodiscard]] inline Hosts hosts_of(const JobPlan& plan) {
  Hosts hosts;
  for (const PlacedHost& placed : plan.placement) hosts.push_back(placed.host);
  return hosts;
}

// The metric's direction; max if SPACE has none, where no metric is compared.
[[nodiscard]] inline Direction direction_of(const SweepSettings& settings) {
  return settings.space.direction.value_or(Direction::max);
}

// The program of a block's trials.
[[nodiscard]] inline const std::vector<std::string>& program_of(const SweepSettings& settings,
                                                                int block) {
  const auto& own = settings.space.blocks.at(static_cast<std::size_t>(block)).program;
  return own.empty() ? settings.program : own;
}

// Whether the trials of a block have a run of bert_train in their folders.
[[nodiscard]] inline bool trains(const SweepSettings& settings, int block) {
  return settings.trainers.at(static_cast<std::size_t>(block));
}

}  // namespace bp::launcher::sweep
