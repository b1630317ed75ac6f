// How bprun learns the command that goes on with a run, for its report should the job fail.
#pragma once

#include "base/resume_words.h"
#include "bp/store.h"

namespace bp::trainer {

// May be called by any thread. `store`: the world's. A world of one has none (null), and then
// connects for a moment to that which bprun started it with, if it did. Throws nothing for that: a
// store that is out of reach is a loss for the report only.
void tell_bprun(Store* store, const ResumeWords& words);

}  // namespace bp::trainer
