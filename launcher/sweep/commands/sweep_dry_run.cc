#include <stdlib.h>  // mkdtemp

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/quoted.h"
#include "base/shell_word.h"
#include "base/system/usable_cores.h"
#include "base/text.h"
#include "bp/error.h"
#include "launcher/process/read_file.h"
#include "launcher/report/clock_text.h"
#include "launcher/sweep/commands/ask_program.h"
#include "launcher/sweep/commands/sweep_commands.h"
#include "launcher/sweep/driver/proposals.h"
#include "launcher/sweep/driver/trial_run.h"
#include "launcher/sweep/state/sweep_state.h"
#include "launcher/sweep/trial/trial_program.h"

namespace bp::launcher::sweep {
namespace {

using Json = nlohmann::json;

struct PlannedTrial {
  TrialPlan plan;
  int slots = 1;
  std::vector<std::string> program;
};

Json to_json(const PlannedTrial& trial) {
  auto parameters = Json::object();
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

struct TimeEstimate {
  double trial_seconds = 0;  // of one trial
  double seconds = 0;        // of all trials that have not ended, on all slots
  int left = 0;              // these trials
  std::string source;        // "12 trials that have finished took ..." or "bert_train estimate ..."
};

constexpr std::chrono::minutes kEstimateLimit{5};

int slots_of(const SweepSettings& settings) {
  int slots = 0;
  for (const PlacedHost& placed : settings.plan.placement) slots += placed.ranks;
  return slots;
}

// The trials run in rounds, as many at once as there is room for.
double seconds_of_all(const SweepSettings& settings, int trials, double trial_seconds) {
  int slots = 1;
  for (const Block& block : settings.space.blocks) slots = std::max(slots, block.slots);
  const int at_once = std::max(1, slots_of(settings) / slots);
  return trial_seconds * std::ceil(static_cast<double>(trials) / at_once);
}

// A folder in the system's folder for temporary files, which is removed with all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "bp-estimate-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      throw Error(ErrorCode::io, concat("cannot make ", name, ": ", error_text(errno)));
    }
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Returns the line in which bert_train names its failure, or else the first line of its output.
std::string failure_in(const std::string& text) {
  constexpr std::string_view kMark = "bert_train: ";
  const std::size_t at = text.find(kMark);
  const std::size_t begin = at == std::string::npos ? 0 : at + kMark.size();
  return text.substr(begin, text.find('\n', begin) - begin);
}

// From the trials that have finished in the sweep's folder. Returns nothing if there are none.
std::optional<TimeEstimate> time_of_finished(const SweepSettings& settings, int all) {
  std::error_code error;
  if (!std::filesystem::exists(sweep_file(settings.folder), error)) {
    return std::nullopt;
  }
  SweepReader sweep(settings.folder);
  auto counts = sweep.counts();
  const int finished = counts[TrialState::finished];
  if (finished == 0) {
    return std::nullopt;
  }
  TimeEstimate time;
  time.trial_seconds = sweep.mean_seconds();
  time.left = std::max(0, all - finished - counts[TrialState::failed] -
                              counts[TrialState::stopped] - counts[TrialState::skipped]);
  time.seconds = seconds_of_all(settings, time.left, time.trial_seconds);
  time.source = concat(finished, finished == 1 ? " trial that has" : " trials that have",
                       " finished in ", settings.folder);
  return time;
}

// From a few steps of `first`, the first trial, which bert_train estimate runs on this machine.
// Blocks for at most five minutes. Returns why there is no estimate in `problem`, as one line.
std::optional<TimeEstimate> time_of_steps(const SweepSettings& settings,
                                          const TrialPlan& first,
                                          int all,
                                          std::string& problem) {
  const auto& program = program_of(settings, first.block);
  if (!trains(settings, first.block)) {
    problem = concat("only bert_train can estimate its time, not ", program.front());
    return std::nullopt;
  }
  const TemporaryFolder folder;
  const std::string figures = folder.path() + "/figures.json";
  auto words = trial_program(program, first.parameters,
                             {.trial = first.number, .folder = folder.path(), .trains = true});
  words.insert(words.begin() + 1, "estimate");
  words.insert(words.end(), {"--out", figures});
  Question question{.words = words, .with_errors = true, .limit = kEstimateLimit};
  if (std::getenv("OMP_NUM_THREADS") == nullptr) {
    const int threads = std::max(1, usable_cores().computing() / std::max(1, slots_of(settings)));
    question.environment = {concat("OMP_NUM_THREADS=", threads)};
  }
  const Answer answer = ask_program(question);
  const Json json = Json::parse(read_file(figures).text, nullptr, false);
  if (answer.exit_code != 0 || !json.is_object()) {
    problem = answer.exit_code == -1 ? concat("bert_train estimate did not end in ",
                                              kEstimateLimit.count(), " minutes")
                                     : failure_in(answer.text);
    return std::nullopt;
  }
  const double step = json.at("step").at("seconds").get<double>();
  const auto steps = json.at("steps").get<std::int64_t>();
  TimeEstimate time;
  time.trial_seconds = step * static_cast<double>(steps);
  time.left = all;
  time.seconds = seconds_of_all(settings, all, time.trial_seconds);
  time.source = concat("bert_train estimate of trial ", first.number, " (", steps,
                       " steps, without evaluations)");
  return time;
}

std::string shown(const TimeEstimate& time) {
  return concat("time: ", elapsed_text(time.trial_seconds), " a trial, by ", time.source,
                "; about ", elapsed_text(time.seconds), " for ", time.left,
                time.left == 1 ? " trial" : " trials");
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

void print_json(Json trials, int unknown, const FoundTime& found) {
  Json all{{"trials", std::move(trials)}, {"chosen_by_results", unknown}};
  if (found.time) {
    all["time"] = {{"trial_seconds", found.time->trial_seconds},
                   {"seconds", found.time->seconds},
                   {"trials", found.time->left},
                   {"source", found.time->source}};
  }
  std::printf("%s\n", all.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
}

}  // namespace

int sweep_dry_run(const SweepSettings& settings, bool json, bool estimate) {
  auto list = Json::array();
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
