// From which step all ranks of a job start.
#pragma once

#include <string>
#include <vector>

#include "bp/communicator.h"
#include "trainer/data/say.h"
#include "trainer/options/options.h"
#include "trainer/run/resume.h"
#include "trainer/run/run_folder.h"

namespace bp::trainer {

// Collective. Rank 0, which alone has a `folder`, chooses the checkpoint, reports what has changed
// since, and broadcasts the state. Returns the state of the checkpoint, or of step 0, with the
// options and data of `current`. Throws on rank 0 what choose_resume_point(), differences() and
// require_steps_left() throw.
[[nodiscard]] ResumePoint agree_on_start(Communicator& world,
                                         const Options& options,
                                         const RunFolder* folder,
                                         const CurrentRun& current,
                                         const Say& say);

// Prepares the folder for a run that starts there. Until then nothing in it has changed. `of_task`:
// see RunFolder::remove_results().
void prepare_folder(const RunFolder& folder,
                    const ResumePoint& start,
                    const std::vector<std::string>& of_task);

}  // namespace bp::trainer
