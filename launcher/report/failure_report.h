// Why a job failed, and the report that bprun prints about it.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace bp::launcher {

struct Failure {
  int exit_code = 0;
  int rank = -1;                       // the rank that failed; -1: a host or bprun itself failed
  std::string headline;                // "rank 2 on h2 (local rank 0, pid 4711) exited with code 7"
  std::vector<std::string> more = {};  // further lines below the headline
  std::string hint = {};               // empty if there is none
  // The hosts that were lost or not reached, or the failed rank's host.
  std::vector<std::string> hosts = {};
};

struct FailureReport {
  Failure failure;
  std::chrono::system_clock::time_point when;
  std::chrono::milliseconds after{0};  // time since the ranks were started
  std::vector<int> stopped;            // ranks that bprun had to stop
  std::string stop_signal;             // the strongest signal that was needed: "SIGTERM", "SIGKILL"
  std::chrono::milliseconds stop_took{0};
  std::map<int, std::string> under_way;  // by rank, the collective in which it was
  std::vector<std::string> last_errors;
  std::string error_file;  // the file with the rank's whole stderr; empty without files
  std::string next;        // the command that resumes the job; empty if there is none to show
};

// Returns the report as several lines, without a line end after the last.
[[nodiscard]] std::string format_report(const FailureReport& report);

}  // namespace bp::launcher
