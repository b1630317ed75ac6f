// Names the limits on processes and threads, for errors that a full limit causes (EAGAIN).
#pragma once

namespace bp {

inline constexpr const char* kProcessLimits =
    " (limits are ulimit -u, ulimit -v, and pids.max of the control group: docker --pids-limit)";

}  // namespace bp
