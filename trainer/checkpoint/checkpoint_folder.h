// RUN/checkpoints: folders step-N, each complete or absent, and the links `latest` and `best`. A
// name that begins with a dot is a folder that is being written or removed.
//
// Threads: one thread of one process uses it at a time. The run's lease keeps other processes out.
// Within the process the writing thread has it alone until another thread has waited for it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace bp::trainer {

// Which checkpoints stay, besides the best ones.
struct KeepCheckpoints {
  int last = 1;            // this number of the highest steps
  std::int64_t every = 0;  // each multiple of this step; 0: none
};

class CheckpointFolder {
 public:
  explicit CheckpointFolder(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string of_step(std::int64_t step) const;
  // Returns the steps of all step-N, complete or not, the highest first; none without the folder.
  // This and what calls it throw InputError (66) if the folder cannot be read.
  [[nodiscard]] std::vector<std::int64_t> steps() const;

  struct Found {
    std::optional<std::int64_t> step;  // none: no checkpoint is complete
    // The damaged ones above it: "runs/a/checkpoints/step-50: it has no manifest.json".
    std::vector<std::string> skipped;
  };
  // Reads the checkpoints from the highest step down until one is complete.
  [[nodiscard]] Found newest_complete() const;

  // Prepares the folder for a run that resumes after `step`: removes what a killed process was
  // writing, hides later steps (which are damaged, or which the run will make again) and sets the
  // links to checkpoints that exist. The next publish() deletes the hidden steps. Throws io.
  void resume_after(std::int64_t step, std::span<const std::int64_t> best) const;
  // Prepares the folder for a run that starts at step 0: removes what a killed process was writing.
  void remove_leftovers() const;

  // Returns an empty folder in which to write the files of step-N. Throws io.
  [[nodiscard]] std::string begin(std::int64_t step) const;
  // Makes the folder of begin(what.step) the checkpoint step-N: writes its manifest, renames it and
  // sets the links. All of it is on disk afterwards. step-N must not exist. Then removes all but
  // those that `keep` names and the best ones; `best` links to the first of these. Throws io; no
  // other checkpoint has changed then, unless the error came from removing old ones.
  struct Published {
    std::int64_t step = 0;
    std::vector<std::int64_t> best = {};
    KeepCheckpoints keep = {};
  };
  void publish(const Published& what) const;
  // Removes the folder of begin(step).
  void abandon(std::int64_t step) const noexcept;

 private:
  void set_link(const std::string& link, std::int64_t step) const;
  [[nodiscard]] bool set_best_link(std::span<const std::int64_t> best) const;
  void remove_all_but(const Published& what) const;
  void remove_hidden() const;

  std::string path_;
};

}  // namespace bp::trainer
