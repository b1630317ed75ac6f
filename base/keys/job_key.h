// The job's key. A launcher passes it to its ranks in a sealed memfd that they inherit, so it never
// appears in an argument list, in an environment variable or in a file.
#pragma once

#include "base/system/fd.h"
#include "bp/environment.h"

namespace bp {

// Returns a new key from the kernel's generator. Throws io.
[[nodiscard]] JobKey random_job_key();

// Returns a memfd that holds `key` and that no process can change any more. It stays open across
// exec; the caller passes its number in BP_KEY_FD and closes it once the ranks are started. Throws
// io.
[[nodiscard]] Fd share_job_key(const JobKey& key);

// Reads the key without moving the file offset, which all processes that inherited `fd` share. Does
// not close `fd`. Throws invalid_argument if `fd` is not open or not what share_job_key() made.
[[nodiscard]] JobKey read_job_key(int fd);

}  // namespace bp
