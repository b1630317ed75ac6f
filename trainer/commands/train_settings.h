// The settings of a run that depend on more than the command line: on the model and on the data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/model/config.h"
#include "trainer/options/options.h"
#include "trainer/report/evaluation_summary.h"
#include "trainer/share/shared_data.h"
#include "trainer/store/sample_store.h"

namespace bp::trainer {

// Makes a fast dev run: two steps, the smallest evaluations and no checkpoints, which exercise
// every part of a run.
void shorten(RunSettings& settings);

// In a sweep that compares trials by a score of dev, makes it the --best-metric unless that was
// chosen. `metrics`: the scores of the task.
void take_metric_of_sweep(RunSettings& settings, const std::vector<MainScore>& metrics);

// Throws InputError (2) if a sample has more tokens than --max-tokens.
void check_max_tokens(const RunSettings& settings, const std::vector<std::int32_t>& lengths);

// What a run knows before it decides. All must outlive the call.
struct RunFacts {
  const EncoderSpec& config;
  bool pretrained = false;  // training begins with weights of a file
  const SampleStore& store;
  Split evaluated = Split::dev;
  const MainScore& metric;  // compares evaluations
};

// Chooses the values that the command line left open, and adds them to settings.settings. Throws
// InputError (2) for options that do not fit the run's length or its splits.
void decide_settings(RunSettings& settings, const RunFacts& run);

// Adds the path of the run's store to settings.settings if it has not the usual name, so that eval
// and reports find it.
void note_store(RunSettings& settings, const JobData& data, const std::string& path);

}  // namespace bp::trainer
