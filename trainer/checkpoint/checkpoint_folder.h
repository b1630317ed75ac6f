// RUN/checkpoints: step-N/ folders that are complete or not there, with the links `latest` and
// `best`. Names with a dot in front are under way or thrown away.
//
// Used by one thread of one process at a time: the run's lease keeps others out, and the thread
// that writes has it for itself until it is waited for.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace bp::trainer {

class CheckpointFolder {
 public:
  explicit CheckpointFolder(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string of_step(std::int64_t step) const;
  // Of all step-N there, complete or not, the highest first. Empty when nothing is there.
  [[nodiscard]] std::vector<std::int64_t> steps() const;

  struct Found {
    std::optional<std::int64_t> step;  // none: nothing is complete
    std::vector<std::string> skipped;  // "runs/a/checkpoints/step-50: state.json is missing"
  };
  // Tries them from the highest step down.
  [[nodiscard]] Found newest_complete() const;

  // Before a run goes on after `step`: removes what a killed process left under way, takes later
  // steps out of the way (damaged, or of a future that is given up) and lets the links point at
  // what is there. They are removed for good when the next checkpoint is complete.
  void go_on_after(std::int64_t step, std::span<const std::int64_t> best) const;
  // Before a run begins anew.
  void remove_leftovers() const;

  // An empty folder to write step-N in.
  [[nodiscard]] std::string begin(std::int64_t step) const;
  // Makes it step-N, all at once and for good: its manifest, the rename, the links; no step-N may
  // be there. Then removes all but the `keep` highest steps and the best ones, of which the first
  // has the link. Throws io; the others are then untouched.
  struct Published {
    std::int64_t step = 0;
    std::vector<std::int64_t> best = {};
    int keep = 1;
  };
  void publish(const Published& what) const;
  void abandon(std::int64_t step) const noexcept;

 private:
  void point(const std::string& link, std::int64_t step) const;
  [[nodiscard]] bool point_to_best(std::span<const std::int64_t> best) const;
  void remove_all_but(const Published& what) const;
  void remove_hidden() const;

  std::string path_;
};

}  // namespace bp::trainer
