// Describes ranks that have ended or failed. Pure.
#pragma once

#include <string>
#include <vector>

#include "launcher/failure/root_cause_detector.h"
#include "launcher/hosts/placement.h"
#include "launcher/report/failure_report.h"

namespace bp::launcher {

// "exited with code 7", "was killed by signal 11 (SIGSEGV)"; `status` is as from waitpid.
[[nodiscard]] std::string describe_status(int status);
[[nodiscard]] int exit_code_of(int status);  // 128 + signal for a signal

// "rank 2 on h2 (local rank 0, pid 4711)"; without the pid if it is 0.
[[nodiscard]] std::string describe_rank(const std::vector<PlacedHost>& placement,
                                        int rank,
                                        int pid);

// The failure that `root_cause` is. `name` is what describe_rank() says of its rank.
[[nodiscard]] Failure failure_of(const RootCause& root_cause, const std::string& name);

// The warning that these ranks joined the store and exited with 0 without saying goodbye to it, for
// a job that this did not harm.
[[nodiscard]] std::string left_silently(const std::vector<int>& ranks);

}  // namespace bp::launcher
