// Which checkpoint a run resumes from, whether it may do so with these options, and from which step
// all ranks of a job start.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bp/communicator.h"
#include "trainer/checkpoint/checkpoint_state.h"
#include "trainer/common/say.h"
#include "trainer/model/config.h"
#include "trainer/options/options.h"
#include "trainer/run/run_folder.h"

namespace bp::trainer {

struct ResumePoint {
  std::string folder = {};  // of the checkpoint; empty: start at step 0
  bool own = false;         // the checkpoint belongs to this run
  CheckpointState state = {};
};

// Chooses by the value of --resume. "auto": the newest complete checkpoint of the run, or step 0 if
// there is none yet. "never": step 0. Otherwise the folder of a checkpoint, or of a run for its
// newest one. `say` gets a line with the reason for each damaged checkpoint that was skipped.
// Throws InputError: 2 for a run that has a result but no checkpoint, and for a PATH outside of a
// run that has saved something; 65 if no checkpoint is complete; 66 if PATH does not exist.
[[nodiscard]] ResumePoint choose_resume_point(const RunFolder& run,
                                              const std::string& resume,
                                              const Say& say);

// What decides the steps of this run, to be compared with a checkpoint.
struct CurrentRun {
  std::vector<Setting> options;
  MainScore metric = {};  // by which evaluations are compared
  std::uint64_t seed = 0;
  std::string optimizer;
  std::string store;  // its identity
  std::int64_t rows = 0;
  Lengths lengths = {};  // of the rows; see needs_lengths()
  EncoderSpec config;
  std::string base_hash = {};  // of the weights beside which adapters are trained; empty: none
  Summation summation;
  Resets reset = {};  // what begins again here, so that it may differ
};

// Returns a line for each difference that is allowed: "batch is 32 in the checkpoint, 16 here".
// Throws InputError (2) with every difference that is not allowed: another seed, other data, a
// model of another shape.
[[nodiscard]] std::vector<std::string> differences(const ResumePoint& point,
                                                   const CurrentRun& current);

// Throws InputError (2) if no step is left to resume with: the run is finished and has no
// more steps, or the checkpoint lies beyond the last step. `steps_left` is negative then.
void require_steps_left(const ResumePoint& point, const RunFolder& run, std::int64_t steps_left);

// Collective. Rank 0, which alone has a `folder`, chooses the checkpoint, reports what has changed
// since, and broadcasts the state. Returns the state of the checkpoint, or of step 0, with the
// options and data of `current`. Throws on rank 0 what choose_resume_point(), differences() and
// require_steps_left() throw.
[[nodiscard]] ResumePoint agree_on_start(Communicator& world,
                                         const RunSettings& settings,
                                         const RunFolder* folder,
                                         const CurrentRun& compared,
                                         const Say& say);

// Prepares the folder for a run that starts there. Until then nothing in it has changed. `of_task`:
// see RunFolder::remove_results().
void prepare_folder(const RunFolder& folder,
                    const ResumePoint& start,
                    const std::vector<std::string>& of_task);

}  // namespace bp::trainer
