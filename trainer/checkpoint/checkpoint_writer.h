// Writes checkpoints beside training, one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "trainer/checkpoint/background.h"
#include "trainer/checkpoint/checkpoint_folder.h"
#include "trainer/checkpoint/checkpoint_state.h"

namespace bp::trainer {

class CheckpointWriter {
 public:
  // Writes the files of a checkpoint, but state.json, into the folder given.
  using WriteFiles = std::function<void(const std::string& folder)>;

  // `last`: the step of the last complete one, if any. `keep`: how many of the last stay, 1 or
  // more; the state's best ones stay besides. `published` is called on the writer's thread after
  // each checkpoint that is complete; it must not throw.
  CheckpointWriter(
      std::string folder,
      int keep,
      std::optional<std::int64_t> last,
      std::function<void()> published = [] {});

  // Runs `prepare` on the writer's thread; to be called at once, if at all.
  void before_the_first(std::function<void()> prepare) { background_.start(std::move(prepare)); }

  // Waits until nothing is being written, so that what write_files reads may change. Throws io
  // when a write failed, naming the file, the reason and the last complete checkpoint.
  void wait();
  // Throws the same without waiting.
  void check();
  // Begins to write; what `write_files` reads must stay as it is until the next wait().
  void start(const CheckpointState& state, WriteFiles write_files);

  // Of the last checkpoint that was begun; it is complete after wait().
  [[nodiscard]] std::optional<std::int64_t> last_begun() const { return begun_; }
  [[nodiscard]] std::string path_of(std::int64_t step) const { return folder_.of_step(step); }

 private:
  void write(const CheckpointState& state, const WriteFiles& write_files);

  CheckpointFolder folder_;
  int keep_;
  std::function<void()> published_;
  std::optional<std::int64_t> complete_;  // the thread's while it writes
  std::optional<std::int64_t> begun_;
  Background background_;  // last: its thread ends before what it uses goes
};

// How many stay.
struct KeptCheckpoints {
  int last = 2;
  int best = 1;
};

// Throws InputError (70) when `folder`, which is there, lies on a disk with less room than the
// checkpoints of a model with this many parameters will need beside those that are there already.
void require_space(const std::string& folder, std::int64_t parameters, const KeptCheckpoints& keep);
// The same for a disk with `free` bytes and `present` bytes of checkpoints on it.
struct DiskSpace {
  std::uint64_t free = 0;
  std::uint64_t present = 0;
};
void require_space(const std::string& folder,
                   const DiskSpace& disk,
                   std::int64_t parameters,
                   const KeptCheckpoints& keep);

}  // namespace bp::trainer
