// The checkpoints of a run under way: rank 0 saves, the others need not.
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
  std::vector<std::string> moments = {};  // of the optimizer; see moment_names() (trainer/optim)
  // config.json and what else a model's folder holds besides weights, as (name, content): a
  // checkpoint serves as a model's folder.
  std::vector<std::pair<std::string, std::string>> texts = {};
  // Called on the writing thread when all is written; it throws where it must not be kept.
  std::function<void()> before_publishing = [] {};
  // Called on the writing thread after each checkpoint that is complete; must not throw.
  std::function<void()> published = [] {};
};

class Checkpoints {
 public:
  Checkpoints(const CheckpointsOptions& options, const Bert& model);

  // Copies what is to be saved, then writes it beside training. Waits for the one before it.
  // Throws io when that one failed. Does nothing for the step that was saved last.
  void save(const CheckpointState& state, const Bert& model, torch::optim::Optimizer& optimizer);
  // Throws io when the one under way has failed.
  void check() { writer_.check(); }
  // Waits for the one under way. Throws io when it fails.
  void finish() { writer_.wait(); }

  [[nodiscard]] std::string path_of(std::int64_t step) const { return writer_.path_of(step); }

 private:
  CheckpointsOptions options_;
  Snapshot snapshot_;
  CheckpointWriter writer_;  // last: it reads the others
};

}  // namespace bp::trainer
