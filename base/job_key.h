// The job's key, and how it gets from a launcher to its ranks: in a sealed memfd that they inherit,
// so that it stands in no argument list, no environment and no file.
#pragma once

#include "base/fd.h"
#include "bp/environment.h"

namespace bp {

// Fresh from the kernel's generator.
[[nodiscard]] JobKey random_job_key();

// A memfd that holds `key` and that nobody can change any more. It survives exec, under the number
// to be told in BP_KEY_FD; close it once the ranks are started.
[[nodiscard]] Fd share_job_key(const JobKey& key);

// Reads by pread, so that every process that inherited the descriptor can. Does not close it.
// Throws invalid_argument when `fd` is not open or is not what share_job_key made.
[[nodiscard]] JobKey read_job_key(int fd);

}  // namespace bp
