// Why a job failed, and the screen that says so.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace bp::launcher {

struct Failure {
  int exit_code = 0;
  int rank = -1;                       // whose failure it was; -1: a host's, or bprun's own
  std::string headline;                // "rank 2 on h2 (local rank 0, pid 4711) exited with code 7"
  std::vector<std::string> more = {};  // lines below it
  std::string hint = {};               // empty where there is none
  std::vector<std::string> hosts = {};  // lost, not reached, or that of the rank
};

struct FailureReport {
  Failure failure;
  std::chrono::system_clock::time_point when;
  std::chrono::milliseconds after{0};  // since the ranks were started
  std::vector<int> stopped;            // ranks that were still running
  std::string stop_signal;             // the strongest that was needed: "SIGTERM", "SIGKILL"
  std::chrono::milliseconds stop_took{0};
  std::map<int, std::string> under_way;  // by rank: the collective that it was in
  std::vector<std::string> last_errors;
  std::string error_file;  // where all of it is; empty: nowhere
  std::string next;        // the command to go on with; empty: there is none to show
};

// Several lines, without a line end at the end.
[[nodiscard]] std::string format_report(const FailureReport& report);

}  // namespace bp::launcher
