#include "launcher/sweep/commands/time_estimate.h"

#include <stdlib.h>  // mkdtemp

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/usable_cores.h"
#include "bp/error.h"
#include "launcher/process/program.h"
#include "launcher/process/read_file.h"
#include "launcher/report/clock_text.h"
#include "launcher/sweep/commands/ask_program.h"
#include "launcher/sweep/driver/trial_run.h"
#include "launcher/sweep/state/sweep_reader.h"
#include "launcher/sweep/state/tables.h"
#include "launcher/sweep/trial/trial_program.h"

namespace bp::launcher::sweep {
namespace {

using Json = nlohmann::json;

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

}  // namespace

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

}  // namespace bp::launcher::sweep
