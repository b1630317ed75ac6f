// Writes sweep.sqlite. Every change is one transaction in a write-ahead log, so that a kill at any
// moment leaves the state before or after it, and other processes can read meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/sweep/state/folder_lock.h"
#include "launcher/sweep/state/trial_record.h"

namespace bp::launcher::sweep {

struct Request {
  std::string what;  // "retry" or "stop"
  int trial = 0;
};

class SweepState {
 public:
  // Opens the state in `folder`, or makes both, and keeps other sweeps out of the folder until this
  // is destroyed. Throws what FolderLock and check_sweep_file() throw, and io.
  explicit SweepState(const std::string& folder);
  ~SweepState();
  SweepState(const SweepState&) = delete;
  SweepState& operator=(const SweepState&) = delete;

  // All functions throw io, naming the file: after that the state on disk is that before the call.
  [[nodiscard]] std::optional<std::string> setting(const std::string& name);
  void put_setting(const std::string& name, const std::string& value);

  [[nodiscard]] std::vector<TrialRecord> trials();  // all, by number
  // Calls `take` with the trial's number, the step and the value of each report, by trial and step.
  void each_report(const std::function<void(int, std::int64_t, double)>& take);

  void add(const TrialRecord& trial);
  void save(const TrialRecord& trial);  // all but what its plan says
  // Adds reports of the trial, replaces those of the same steps, and saves the trial.
  void report(const TrialRecord& trial, const std::vector<Report>& reports);
  void host(const std::string& name, int slots, bool present, const std::string& why);
  void event(const std::string& what, std::optional<int> trial, const std::string& host = "");
  [[nodiscard]] std::vector<Request> take_requests();  // and removes them

 private:
  class Impl;
  FolderLock lock_;
  std::unique_ptr<Impl> impl_;
};

// For other processes, while a sweep runs or when none does.
void post_request(const std::string& folder, const Request& request);

}  // namespace bp::launcher::sweep
