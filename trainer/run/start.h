// Where all ranks of a job begin, or go on.
#pragma once

#include <functional>
#include <string>

#include "bp/communicator.h"
#include "trainer/options/options.h"
#include "trainer/run/resume.h"
#include "trainer/run/run_folder.h"

namespace bp::trainer {

// Collective. Rank 0, which alone has a `folder`, chooses and says what changed; the others are
// told. The state returned is that of the checkpoint (or of no step) with what `present` is. Throws
// what choose_resume_point(), differences() and require_steps_left() throw, on rank 0.
[[nodiscard]] ResumePoint agree_on_start(Communicator& world,
                                         const Options& options,
                                         const RunFolder* folder,
                                         const Present& present,
                                         const std::function<void(const std::string&)>& say);

// Makes the folder ready for a run that starts there; nothing was changed in it before.
void clear_the_way(const RunFolder& folder, const ResumePoint& start);

}  // namespace bp::trainer
