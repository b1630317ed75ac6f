// The keys of a job whose machines join by themselves.
#pragma once

#include <string>

#include "bp/environment.h"

namespace bp::launcher {

// What the handshake between such machines names as its job: no store's name.
inline constexpr const char* kJoinHandshake = "bprun --join";

// Of the file that BP_JOB_KEY_FILE names. Throws invalid_argument where there is none, it cannot be
// read or others can read it too.
[[nodiscard]] JobKey read_join_key();

// The key of the job's store, which so never travels.
[[nodiscard]] JobKey key_of_job(const JobKey& join_key, const std::string& job);

}  // namespace bp::launcher
