// Limits of a process that bp cannot work with, and what sets them.
#pragma once

namespace bp {

// Names the limits on processes and threads, for errors that a full limit causes (EAGAIN).
inline constexpr const char* kProcessLimits =
    " (limits are ulimit -u, ulimit -v, and pids.max of the control group: docker --pids-limit)";

// Throws io, with what to change, if the stacks of this process' threads may not be as large as bp
// needs them. The process would end by SIGSEGV.
void require_large_stacks();

}  // namespace bp
