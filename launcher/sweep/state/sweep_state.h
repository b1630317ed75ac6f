// sweep.sqlite, in which a sweep writes down what happens. Every change is one transaction in a
// write-ahead log, so that a kill at any moment leaves the state before or after it, and other
// processes can read meanwhile.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "launcher/sweep/space/metric.h"
#include "launcher/sweep/state/trial_record.h"

namespace bp::launcher::sweep {

struct HostRecord {
  std::string name = {};
  int slots = 0;
  bool present = true;
  std::string reason = {};  // why it was lost
};

void fields(auto& column, Of<HostRecord> auto& it) {
  column("name", it.name);
  column("slots", it.slots);
  column("present", it.present);
  column("reason", it.reason);
}

class SweepReader {
 public:
  class File;  // open, and how records stand in it

  // `path` is a sweep's folder or its sweep.sqlite. Throws invalid_argument if there is no such
  // file or it is not one of bprun sweep. All functions throw io, naming the file.
  explicit SweepReader(const std::string& path);
  ~SweepReader();
  SweepReader(const SweepReader&) = delete;
  SweepReader& operator=(const SweepReader&) = delete;

  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] std::string setting(const std::string& name);  // empty if it is not set
  [[nodiscard]] Direction direction();
  [[nodiscard]] std::map<TrialState, int> counts();
  [[nodiscard]] std::vector<TrialRecord> trials();                  // all, by number
  [[nodiscard]] std::vector<TrialRecord> trials(TrialState state);  // by number
  [[nodiscard]] std::optional<TrialRecord> trial(int number);
  // The trials with the best results, the best first; those with equal results by number.
  [[nodiscard]] std::vector<TrialRecord> best(int most, Direction direction);
  [[nodiscard]] std::vector<Report> reports(int trial);  // by step
  // Calls `take` with the trial's number, the step and the value of each report, by trial and step.
  void each_report(const std::function<void(int, std::int64_t, double)>& take);
  [[nodiscard]] std::vector<HostRecord> hosts();
  [[nodiscard]] double mean_seconds();  // of finished trials; 0 if there are none

 protected:
  SweepReader(std::string folder, std::unique_ptr<File> file);
  [[nodiscard]] File& file() { return *file_; }

 private:
  std::string folder_;
  std::unique_ptr<File> file_;
};

struct Request {
  std::string what;  // "retry" or "stop"
  int trial = 0;
};

class SweepState : public SweepReader {
 public:
  // Opens the state in `folder`, or makes both, and keeps other sweeps out of the folder until this
  // is destroyed. Throws what SweepReader throws, and unavailable, naming the folder and the
  // process, if another one runs a sweep there. After an error of the other functions the state on
  // disk is that before the call.
  explicit SweepState(const std::string& folder);

  void put_setting(const std::string& name, const std::string& value);
  void save(const TrialRecord& trial);
  // Adds reports of the trial, replaces those of the same steps, and saves the trial.
  void report(const TrialRecord& trial, const std::vector<Report>& reports);
  void host(const HostRecord& host);
  void event(const std::string& what, std::optional<int> trial, const std::string& host = "");
  [[nodiscard]] std::vector<Request> take_requests();  // and removes them
};

// For other processes, while a sweep runs or when none does.
void post_request(const std::string& folder, const Request& request);
// The process that runs the sweep of the folder, as far as this machine knows it.
[[nodiscard]] std::optional<pid_t> sweep_process(const std::string& folder);
[[nodiscard]] std::string sweep_file(const std::string& folder);  // FOLDER/sweep.sqlite

}  // namespace bp::launcher::sweep
