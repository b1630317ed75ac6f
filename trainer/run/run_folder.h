// RUN/: the folder with all files of a run. Rank 0 alone writes it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trainer/prepare/lease.h"

namespace bp::trainer {

// runs/reviews for examples/reviews.csv and examples/reviews.csv.gz.
[[nodiscard]] std::string default_run(const std::string& data);

class RunFolder {
 public:
  enum class IfExists : std::uint8_t { refuse, reuse };

  // Makes the folder, or takes the existing folder of a run, and holds a lease on it: no other
  // process writes it while this object lives. A killed process loses its lease at once, one of
  // another host after times.expiry. Blocks for at most that time and one renewal. Throws
  // InputError: 2 with --run in the hint if `path` exists and is not a run's folder, if it is one
  // and `if_exists` says refuse, or if another process is using it; 70 with a writable place in the
  // hint if it cannot be made or written.
  static RunFolder open(const std::string& path, IfExists if_exists, const LeaseTimes& times = {});

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] std::string checkpoints() const { return file("checkpoints"); }
  // Returns whether the result is complete, by the file that is written last.
  [[nodiscard]] bool finished() const;
  // Before a run resumes: removes the results, which it will write again, and the unfinished files
  // of a killed process. `of_task`: the names of the files that only the run's task writes.
  void remove_results(const std::vector<std::string>& of_task) const;
  // Throws Error (aborted) if another process has taken over the folder. It may do so when this
  // process was suspended for longer than the lease lasts.
  void require_lease() const;
  // Ends the lease, and removes the folder and the parents that open() made, such as runs/, as far
  // as they are empty: a run that could not start leaves nothing behind.
  void remove_if_empty();

 private:
  RunFolder(std::string path, std::unique_ptr<Lease> lease, std::vector<std::string> made)
      : path_(std::move(path)), lease_(std::move(lease)), made_(std::move(made)) {}
  std::string path_;
  std::unique_ptr<Lease> lease_;
  std::vector<std::string> made_;  // the folders that open() made, the innermost first
};

// Returns the path of the file that asks the run to save and to end, if it exists.
[[nodiscard]] std::string stop_file(const std::string& run);
// Returns whether a process seems to be working on the run, and changes nothing.
[[nodiscard]] bool seems_in_use(const std::string& run);
// Returns whether the run's result is complete.
[[nodiscard]] bool is_finished(const std::string& run);
// Makes that file. Throws InputError (66) if `run` is not a run's folder or no process is using it.
void ask_to_stop(const std::string& run, const LeaseTimes& times = {});

// Returns the folder of the model in `source`, the folder of a model or a run. For an unfinished
// run it is the last checkpoint. Throws InputError (66) if there is no model.
[[nodiscard]] std::string model_folder(const std::string& source);

}  // namespace bp::trainer
