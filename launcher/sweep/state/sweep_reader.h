// Reads sweep.sqlite, also while a sweep writes it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/sweep/space/metric.h"
#include "launcher/sweep/state/trial_record.h"

namespace bp::launcher::sweep {

struct HostRecord {
  std::string name;
  int slots = 0;
  bool present = true;
  std::string reason = {};  // why it was lost
};

class SweepReader {
 public:
  // `path` is a sweep's folder or its sweep.sqlite. Throws invalid_argument if there is no such
  // file or it is not one of bprun sweep. The other functions throw io.
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
  [[nodiscard]] std::vector<HostRecord> hosts();
  [[nodiscard]] double mean_seconds();  // of finished trials; 0 if there are none

 private:
  class Impl;
  std::string folder_;
  std::unique_ptr<Impl> impl_;
};

// Returns the folder that `path`, a folder or the file in it, means.
[[nodiscard]] std::string sweep_folder_of(const std::string& path);

}  // namespace bp::launcher::sweep
