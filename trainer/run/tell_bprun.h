// Tells bprun the command that resumes a run, which its report shows if the job fails.
#pragma once

#include "base/resume_words.h"
#include "bp/store.h"

namespace bp::trainer {

// `store`: that of the world. A world of one rank has none (null); the function then connects to
// the store that bprun gave the process, if bprun started it, for a few seconds at most. Does not
// throw if the store cannot be reached: only the report lacks the command then. Any thread may call
// it.
void tell_bprun(Store* store, const ResumeWords& words);

}  // namespace bp::trainer
