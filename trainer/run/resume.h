// Where a run goes on: which checkpoint, and whether it may with these options.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "trainer/checkpoint/checkpoint_state.h"
#include "trainer/model/config.h"
#include "trainer/options/options.h"
#include "trainer/run/run_folder.h"

namespace bp::trainer {

struct ResumePoint {
  std::string folder = {};  // of the checkpoint; empty: from the beginning
  bool own = false;         // it is one of the run's own
  CheckpointState state = {};
};

// "auto": the newest complete checkpoint of the run, or the beginning where there is none yet;
// "never": the beginning; else a checkpoint's folder, or a run's for its newest. `say` gets a line
// for each that was skipped, with the reason. Throws InputError: 2 for a run that has a result but
// no checkpoint, or a PATH outside of a run that has saved
// something; 65 when checkpoints are there and none
// is complete, 66 when nothing is at PATH.
[[nodiscard]] ResumePoint choose_resume_point(const RunFolder& run,
                                              const std::string& resume,
                                              const std::function<void(const std::string&)>& say);

// What this run is, to be held against a checkpoint.
struct Present {
  std::vector<Setting> options;
  std::uint64_t seed = 0;
  std::string store;  // its identity
  std::int64_t rows = 0;
  BertConfig config;
  Summation summation;
};

// A line for each difference that is allowed, for a person: "batch is 32 in the checkpoint, 16
// here". Throws InputError (2, or 65 for data) naming every difference that is not: another seed,
// other data, a model of another shape.
[[nodiscard]] std::vector<std::string> differences(const ResumePoint& point,
                                                   const Present& present);

// Throws InputError (2) when there is nothing to resume: a finished run that is to make no more
// steps, or a checkpoint beyond the last step. `steps_left` may be negative.
void require_steps_left(const ResumePoint& point, const RunFolder& run, std::int64_t steps_left);

}  // namespace bp::trainer
