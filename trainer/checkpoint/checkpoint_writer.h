// Writes checkpoints while training continues, one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "trainer/checkpoint/checkpoint_folder.h"
#include "trainer/checkpoint/checkpoint_state.h"
#include "trainer/common/background.h"

namespace bp::trainer {

class CheckpointWriter {
 public:
  // Writes the files of a checkpoint, except state.json and the manifest, into `folder`.
  using WriteFiles = std::function<void(const std::string& folder)>;

  // `keep`: the checkpoints that stay; those in the state's `best` stay as well. `last`: the step
  // of the last complete one, if there is one. The writer's thread calls `published` after each
  // complete checkpoint; it must not throw.
  CheckpointWriter(
      std::string folder,
      KeepCheckpoints keep,
      std::optional<std::int64_t> last,
      std::function<void()> published = [] {});

  // Runs `prepare` on the writer's thread. Only before the first start().
  void before_the_first(std::function<void()> prepare) { background_.start(std::move(prepare)); }

  // Blocks until no checkpoint is being written, so that what write_files reads may change. Throws
  // io if a write failed, with the file, the reason and the last complete checkpoint.
  void wait() { background_.wait(); }
  // Throws the same. Does not block.
  void check() { background_.check(); }
  // Starts to write. What `write_files` reads must not change before the next wait().
  void start(const CheckpointState& state, WriteFiles write_files);

  // Returns the step of the last checkpoint that was started; it is complete after wait().
  [[nodiscard]] std::optional<std::int64_t> last_begun() const { return begun_; }
  [[nodiscard]] std::string path_of(std::int64_t step) const { return folder_.of_step(step); }

 private:
  void write(const CheckpointState& state, const WriteFiles& write_files);

  CheckpointFolder folder_;
  KeepCheckpoints keep_;
  std::function<void()> published_;
  std::optional<std::int64_t> complete_;  // the writing thread's until wait()
  std::optional<std::int64_t> begun_;
  Background background_{
      "bp-checkpoint"};  // last: its destructor waits for the thread, which uses the others
};

// The numbers of checkpoints that stay.
struct KeptCheckpoints {
  int last = 2;
  int best = 1;
  bool optimizer_state = true;  // they have it
  bool averaged = false;        // and averaged weights
};

// Throws InputError (70) if the disk of the existing `folder` has too little room for the
// checkpoints of a model with this number of parameters. Their room includes what the checkpoints
// in the folder take now. Does nothing if the free space cannot be read.
void require_space(const std::string& folder, std::int64_t parameters, const KeptCheckpoints& keep);
// The same for a disk with `free` free bytes and `present` bytes of this run's checkpoints.
struct DiskSpace {
  std::uint64_t free = 0;
  std::uint64_t present = 0;
};
void require_space(const std::string& folder,
                   const DiskSpace& disk,
                   std::int64_t parameters,
                   const KeptCheckpoints& keep);

}  // namespace bp::trainer
