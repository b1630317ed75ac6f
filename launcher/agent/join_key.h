// The keys of a job whose machines join by --join.
#pragma once

#include <string>

#include "bp/environment.h"

namespace bp::launcher {

// The job's name in the handshake between such machines. No store has this name.
inline constexpr const char* kJoinHandshake = "bprun --join";

// Derives the key of --serve and --join from the file that BP_JOB_KEY_FILE names. Throws
// invalid_argument if the variable is not set, the file cannot be read, or other users can read it.
[[nodiscard]] JobKey read_join_key();

// Derives the key of the job's store, so that it never travels.
[[nodiscard]] JobKey key_of_job(const JobKey& join_key, const std::string& job);

}  // namespace bp::launcher
