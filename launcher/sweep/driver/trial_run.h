// A trial while it runs.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "launcher/sweep/driver/pool.h"
#include "launcher/sweep/driver/sweep_settings.h"
#include "launcher/sweep/state/trial_record.h"
#include "launcher/sweep/trial/attempt.h"
#include "launcher/sweep/trial/metric_file.h"

namespace bp::launcher::sweep {

struct TrialRun {
  Pool::Lease lease;
  Attempt attempt;
  std::vector<MetricFile> metrics;
  bool was_asked = false;  // to stop; asked twice, bprun kills its ranks
  // The wall clock may jump while it runs.
  std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
};

// FOLDER/trials/N
[[nodiscard]] std::string trial_folder(const std::string& sweep_folder, int trial);

// Where a trial reports its metric since the attempt that its record names. bert_train writes
// metrics.jsonl, which also has the reports of earlier attempts. It prints the same values as lines
// on stdout, which come from any host. A report may therefore come twice.
[[nodiscard]] std::vector<MetricFile> metrics_of(const SweepSettings& settings,
                                                 const TrialRecord& trial);
// See MetricFile::read().
[[nodiscard]] std::vector<Report> read_reports(std::vector<MetricFile>& files, bool ended = false);

// The program of a trial with its parameters.
[[nodiscard]] std::vector<std::string> program_of_trial(const SweepSettings& settings,
                                                        const TrialRecord& trial);

// The words with which bprun runs an attempt at the trial on the slots of `lease`. `ssh` reaches
// other hosts through the sweep's connections; empty if there are none.
[[nodiscard]] std::vector<std::string> bprun_words(const SweepSettings& settings,
                                                   const TrialRecord& trial,
                                                   const Pool& pool,
                                                   const Pool::Lease& lease,
                                                   const std::string& ssh);

}  // namespace bp::launcher::sweep
