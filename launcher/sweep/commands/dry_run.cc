#include "launcher/sweep/commands/dry_run.h"

#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/quoted.h"
#include "base/shell_word.h"
#include "base/text.h"
#include "launcher/sweep/commands/time_estimate.h"
#include "launcher/sweep/driver/proposals.h"
#include "launcher/sweep/driver/trial_run.h"
#include "launcher/sweep/trial/trial_program.h"

namespace bp::launcher::sweep {
namespace {

struct PlannedTrial {
  TrialPlan plan;
  int slots = 1;
  std::vector<std::string> program;
};

nlohmann::json to_json(const PlannedTrial& trial) {
  auto parameters = nlohmann::json::object();
  for (const auto& [name, value] : trial.plan.parameters) {
    parameters[name] = value.text();
  }
  return {{"trial", trial.plan.number},
          {"slots", trial.slots},
          {"parameters", parameters},
          {"command", trial.program}};
}

// Calls `take` with each trial whose parameters are known before any result. Returns the number of
// the others.
template <class Take>
int each_planned(const SweepSettings& settings, Take take) {
  Proposals proposals(settings);
  int unknown = 0;
  for (int number = 0; const auto block = proposals.next_block(); ++number) {
    if (proposals.learns()) {
      ++unknown;
    } else if (auto plan = proposals.next({})) {
      plan->number = number;
      PlannedTrial trial{std::move(*plan), 1, {}};
      trial.slots = settings.space.blocks[static_cast<std::size_t>(*block)].slots;
      trial.program = trial_program(program_of(settings, *block), trial.plan.parameters,
                                    {.trial = number,
                                     .folder = trial_folder(settings.folder, number),
                                     .trains = trains(settings, *block)});
      take(trial);
    }
    proposals.add(*block);
  }
  return unknown;
}

struct FoundTime {
  std::optional<TimeEstimate> time = {};
  std::string problem = {};  // why an estimate that was asked for is missing
};

FoundTime find_time(const SweepSettings& settings,
                    const std::optional<TrialPlan>& first,
                    int all,
                    bool estimate) {
  FoundTime found;
  found.time = time_of_finished(settings, all);
  if (found.time || !estimate) {
    return found;
  }
  if (first) {
    found.time = time_of_steps(settings, *first, all, found.problem);
  } else {
    found.problem = "results will choose the parameters of every trial";
  }
  return found;
}

void print_json(nlohmann::json trials, int unknown, const FoundTime& found) {
  nlohmann::json all{{"trials", std::move(trials)}, {"chosen_by_results", unknown}};
  if (found.time) {
    all["time"] = {{"trial_seconds", found.time->trial_seconds},
                   {"seconds", found.time->seconds},
                   {"trials", found.time->left},
                   {"source", found.time->source}};
  }
  std::printf("%s\n", all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

}  // namespace

int sweep_dry_run(const SweepSettings& settings, bool json, bool estimate) {
  auto list = nlohmann::json::array();
  int count = 0;
  std::optional<TrialPlan> first;
  const int unknown = each_planned(settings, [&](const PlannedTrial& trial) {
    ++count;
    if (!first) first = trial.plan;
    if (json) {
      list.push_back(to_json(trial));
      return;
    }
    const std::string line =
        concat("trial ", trial.plan.number, ", ", trial.slots,
               trial.slots == 1 ? " slot: " : " slots: ", quote_shell_words(trial.program));
    std::printf("%s\n", printable(line).c_str());
  });
  if (!json) {
    std::printf("%d trials", count + unknown);
    if (unknown > 0) {
      std::printf(", of which results will choose the parameters of %d", unknown);
    }
    std::printf("; folder %s\n", printable(settings.folder).c_str());
    std::fflush(stdout);
  }
  const FoundTime found = find_time(settings, first, count + unknown, estimate);
  if (json) {
    print_json(std::move(list), unknown, found);
  } else if (found.time) {
    std::printf("%s\n", printable(shown(*found.time)).c_str());
  }
  if (!found.problem.empty()) {
    std::fprintf(stderr, "bprun sweep: no estimate of the time: %s\n",
                 printable(found.problem).c_str());
  }
  return 0;
}

}  // namespace bp::launcher::sweep
