#include "launcher/sweep/driver/trial_run.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "base/text.h"
#include "launcher/process/program.h"
#include "launcher/sweep/trial/trial_program.h"

namespace bp::launcher::sweep {
namespace {

std::string in_milliseconds(std::chrono::milliseconds time) { return concat(time.count(), "ms"); }

}  // namespace

std::string trial_folder(const std::string& sweep_folder, int trial) {
  return concat(sweep_folder, "/trials/", trial);
}

std::vector<Report> read_reports(std::vector<MetricFile>& files, bool ended) {
  std::vector<Report> all;
  for (MetricFile& file : files) {
    const auto reports = file.read(ended);
    all.insert(all.end(), reports.begin(), reports.end());
  }
  return all;
}

std::vector<MetricFile> metrics_of(const SweepSettings& settings, const TrialRecord& trial) {
  const std::string folder = trial_folder(settings.folder, trial.number);
  std::vector<MetricFile> files;
  if (trains(settings, trial.block)) {
    files.emplace_back(folder + "/run/metrics.jsonl", settings.space.metric);
  }
  files.emplace_back(folder + "/stdout", "", trial.output_offset);
  return files;
}

std::vector<std::string> program_of_trial(const SweepSettings& settings, const TrialRecord& trial) {
  return trial_program(program_of(settings, trial.block), trial.parameters,
                       {.trial = trial.number,
                        .folder = trial_folder(settings.folder, trial.number),
                        .trains = trains(settings, trial.block)});
}

std::vector<std::string> bprun_words(const SweepSettings& settings,
                                     const TrialRecord& trial,
                                     const Pool& pool,
                                     const Pool::Lease& lease,
                                     const std::string& ssh) {
  const Options& bprun = settings.bprun;
  const auto beside = std::filesystem::path(own_program()).parent_path() / "bprun";
  std::vector<std::string> words{"-q",
                                 "--color",
                                 "never",
                                 "-H",
                                 pool.host_list(lease),
                                 "--remote-bprun",
                                 bprun.remote_bprun.empty() ? beside.string() : bprun.remote_bprun,
                                 "--start-timeout",
                                 in_milliseconds(bprun.start_timeout),
                                 "--lost-after",
                                 in_milliseconds(bprun.lost_after),
                                 "--grace",
                                 in_milliseconds(bprun.grace)};
  if (!ssh.empty()) {
    words.insert(words.end(), {"--ssh", ssh});
  }
  if (!bprun.interface.empty()) {
    words.insert(words.end(), {"--interface", bprun.interface});
  }
  if (bprun.whole_environment) {
    words.emplace_back("--env-all");
  }
  const int threads = pool.threads(lease);
  if (threads > 0 && std::getenv("OMP_NUM_THREADS") == nullptr) {
    words.insert(words.end(), {"--env", concat("OMP_NUM_THREADS=", threads)});
  }
  words.insert(words.end(),
               {"--env", concat("BP_SWEEP_TRIAL=", trial.number), "--env",
                concat("BP_SWEEP_FOLDER=", trial_folder(settings.folder, trial.number)), "--env",
                "BP_SWEEP_METRIC=" + settings.space.metric});
  for (const std::string& variable : bprun.environment) {
    words.insert(words.end(), {"--env", variable});
  }
  words.emplace_back("--");
  const auto program = program_of_trial(settings, trial);
  words.insert(words.end(), program.begin(), program.end());
  return words;
}

}  // namespace bp::launcher::sweep
