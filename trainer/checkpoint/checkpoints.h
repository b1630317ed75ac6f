// Saves the checkpoints of a running training, on rank 0 alone.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trainer/checkpoint/checkpoint_writer.h"
#include "trainer/checkpoint/snapshot.h"
#include "trainer/model/bert.h"

namespace torch::optim {
class Optimizer;
}

namespace bp::trainer {

struct CheckpointsOptions {
  std::string folder;  // RUN/checkpoints
  int keep = 2;
  std::optional<std::int64_t> last = {};  // the step of the last complete one
  std::int64_t keep_every = 0;            // see CheckpointFolder::Published
  // Of the optimizer; see moment_names() (trainer/optim). Nothing: checkpoints lack its state.
  std::optional<std::vector<std::string>> moments = std::vector<std::string>();
  bool averaged = false;  // save() gets averaged weights
  // config.json and the other files of a model's folder, except the weights, as (name, content): a
  // checkpoint can be used as a model's folder.
  std::vector<std::pair<std::string, std::string>> texts = {};
  // Called on the writing thread when all files are written. The checkpoint is kept unless it
  // throws.
  std::function<void()> before_publishing = [] {};
  // Called on the writing thread after each complete checkpoint; must not throw.
  std::function<void()> published = [] {};
};

class Checkpoints {
 public:
  Checkpoints(const CheckpointsOptions& options, const Bert& model);

  // Copies weights and state, then starts to write the copy. Blocks while the previous checkpoint
  // is being written, and throws io if that failed. Does nothing for the step that was saved last.
  // `averages`: see Snapshot::take().
  void save(const CheckpointState& state,
            const Bert& model,
            torch::optim::Optimizer& optimizer,
            const std::vector<at::Tensor>* averages = nullptr);
  // Throws io if a write has failed. Does not block.
  void check() { writer_.check(); }
  // Blocks until the last checkpoint is written. Throws io if that fails.
  void finish() { writer_.wait(); }

  [[nodiscard]] std::string path_of(std::int64_t step) const { return writer_.path_of(step); }

 private:
  CheckpointsOptions options_;
  Snapshot snapshot_;
  CheckpointWriter writer_;  // last: its thread reads the others
};

}  // namespace bp::trainer
