// RUN/: what a run leaves behind. Rank 0 alone writes it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trainer/data/lease.h"
#include "trainer/options/options.h"

namespace bp::trainer {

// runs/reviews for examples/reviews.csv.
[[nodiscard]] std::string default_run(const std::string& data);

class RunFolder {
 public:
  enum class IfThere : std::uint8_t { refuse, take };

  // A folder that nobody else writes while this lives: makes it, or takes one that a run has left
  // behind, under a lease that a killed run does not keep (another host's for times.expiry). Throws
  // InputError: 2, naming --run, when something else is there, when a run is to begin anew in what
  // one has left, or when another process is at work in it; 70 when it cannot be made or written,
  // naming a place that can.
  static RunFolder open(const std::string& path, IfThere if_there, const LeaseTimes& times = {});

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] std::string checkpoints() const { return file("checkpoints"); }
  // All of a result is there: what is written last.
  [[nodiscard]] bool finished() const;
  // Before a run goes on: what it will write again goes, and what a killed process left half made.
  void remove_results() const;
  // Throws Error (aborted) when another process has taken the folder over, which it may after this
  // one was suspended for long.
  void require_ours() const;
  // Removes it again if nothing was written: a run that could not begin is in nobody's way.
  void remove_if_empty();

 private:
  RunFolder(std::string path, std::unique_ptr<Lease> lease)
      : path_(std::move(path)), lease_(std::move(lease)) {}
  std::string path_;
  std::unique_ptr<Lease> lease_;
};

// The file whose appearance asks the run to save and stop.
[[nodiscard]] std::string stop_file(const std::string& run);
// Makes it. Throws InputError: 66 when `run` is not a run's folder or no process is at work in it.
void ask_to_stop(const std::string& run, const LeaseTimes& times = {});

// config.yaml: keys are the long options, comments say where each value comes from.
[[nodiscard]] std::string settings_yaml(const std::vector<Setting>& settings);
// Throws InputError (65) naming the file and the line.
[[nodiscard]] std::vector<Setting> read_settings(const std::string& path);

// The model's folder of a run's or model's folder; of a run that is not finished, that of its last
// checkpoint. Throws InputError (66) when there is none.
[[nodiscard]] std::string model_folder(const std::string& source);

}  // namespace bp::trainer
