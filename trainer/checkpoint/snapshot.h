// The files of a checkpoint that hold tensors. A Snapshot is a copy of the weights and of the
// optimizer's state between two steps, in the host's memory, so that training continues while the
// copy is written. Where memory is scarce it is the tensors themselves, what hosts have in parts of
// them comes in pieces, and training waits. A model on any device may be saved, and restored on any
// other. Checkpoints saves those of a running training, on rank 0 alone.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bp/torch/distributed_optimizer.h"
#include "trainer/checkpoint/checkpoint_writer.h"
#include "trainer/model/bert.h"
#include "trainer/model/files/safetensors.h"

namespace torch::optim {
class Optimizer;
}

namespace bp::trainer {

class Snapshot {
 public:
  // `moments`: the names of the tensors that the optimizer keeps for each parameter; see
  // moment_names() (trainer/optim/optimizer.h). Nothing: the optimizer's state is left out.
  // Reserves memory for the weights and the moments, which the first prepare() or take() touches.
  // `averaged`: take() gets averaged weights. Without `copies` it reserves nothing, and what take()
  // gets, on the CPU, must not change before write() has returned.
  Snapshot(const Bert& model,
           std::optional<std::vector<std::string>> moments,
           bool averaged = false,
           bool copies = true);
  // Touches the memory, so that the first take() is as fast as the others. Any thread may call it,
  // but not during take() or write().
  void prepare();
  // Takes weights and state. make_optimizer() returned `optimizer`, for the model's parameters.
  // `averages`: in the order of the parameters; null if there are none. `outer`: the momentum of
  // rounds (DistributedOptimizer::State).
  void take(const Bert& model,
            torch::optim::Optimizer& optimizer,
            const std::vector<at::Tensor>* averages = nullptr,
            const NamedTensors& outer = {});
  // Writes into `folder`:
  //   model.safetensors, as Hugging Face has it, or adapter_model.safetensors (save_weights());
  //   optimizer.safetensors with MOMENT.NAME (F32) for each moment and step.NAME (I64), by the
  //   names of Bert::parameters(), of the parameters that the optimizer has updated. Not without
  //   the optimizer's state. With averages, these are in model.safetensors, and
  //   optimizer.safetensors has weight.NAME (F32) with the weights that training goes on with. With
  //   a momentum of rounds, it has outer.NAME (F32).
  // Any thread may call it. Throws io. `optimizer`, with which the snapshot has no copies, streams
  // what hosts have in parts.
  void write(const std::string& folder, DistributedOptimizer* optimizer = nullptr);

 private:
  struct Kept {
    std::string name;  // in the file
    std::vector<std::int64_t> shape;
    at::Tensor values;  // perhaps this rank's part alone
  };
  void keep(std::vector<Kept>& kept,
            const std::string& name,
            at::IntArrayRef shape,
            const at::Tensor& values);
  void write_parameter(SafetensorsWriter& file, const at::Tensor& parameter) const;

  const std::string file_;  // of the weights
  const std::optional<std::vector<std::string>> moments_;
  const bool averaged_;
  const bool copies_;
  std::map<std::string, at::Tensor> rooms_;  // memory for copies, by name
  std::vector<Kept> weights_;
  std::vector<Kept> state_;
  std::vector<std::pair<std::string, std::int64_t>> steps_;
};

// Returns the number of parameters that are saved.
[[nodiscard]] std::int64_t count_parameters(const Bert& model);

// Reads what Snapshot::write() wrote back into model and optimizer, bit for bit. make_optimizer()
// returned `optimizer`; null: only model.safetensors is read.
// If the checkpoint has averages, `averages` (unless null) gets them in the order of the
// parameters, and the model the weights that training continues with. `outer` (unless null) gets
// the momentum of rounds, if the checkpoint has one. Throws invalid_argument with
// the file's name if it does not fit the model, and io if it cannot be read; model and optimizer
// may then be partly changed.
void restore(const std::string& folder,
             Bert& model,
             torch::optim::Optimizer* optimizer,
             std::vector<at::Tensor>* averages = nullptr,
             NamedTensors* outer = nullptr);

struct CheckpointsOptions {
  std::string folder;  // RUN/checkpoints
  int keep = 2;
  std::optional<std::int64_t> last = {};  // the step of the last complete one
  std::int64_t keep_every = 0;            // see CheckpointFolder::Published
  // Of the optimizer; see moment_names() (trainer/optim). Nothing: checkpoints lack its state.
  std::optional<std::vector<std::string>> moments = std::vector<std::string>();
  bool averaged = false;  // save() gets averaged weights
  bool copies = true;     // save() writes a copy while training continues
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

  // Copies weights and state, then starts to write the copy. Without `copies` it writes them
  // itself, while the other ranks call optimizer.stream_state(). Blocks while the previous
  // checkpoint is being written, and throws io if that failed. Does nothing for the step that was
  // saved last. `averages`: see Snapshot::take().
  void save(const CheckpointState& state,
            const Bert& model,
            DistributedOptimizer& optimizer,
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
