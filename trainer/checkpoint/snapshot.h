// Weights and AdamW's moments, copied at a step boundary so that training can go on while they are
// written; and read back.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "trainer/model/bert.h"

namespace torch::optim {
class Optimizer;
}

namespace bp::trainer {

class Snapshot {
 public:
  // Takes memory three times the size of the weights, and touches it at the first take().
  explicit Snapshot(const Bert& model);
  ~Snapshot();
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  // Touches the memory, so that the first take() is as fast as the others. From any thread, not
  // beside take() or write().
  void prepare();
  // Copies. `optimizer` is a torch::optim::AdamW of the model's parameters.
  void take(const Bert& model, torch::optim::Optimizer& optimizer);
  // model.safetensors as Hugging Face has it; optimizer.safetensors with exp_avg.NAME and
  // exp_avg_sq.NAME (F32) and step.NAME (I64), by the names of Bert::parameters(), of those that
  // have moments. From any thread. Throws io.
  void write(const std::string& folder) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

[[nodiscard]] std::int64_t count_parameters(const Bert& model);

// What write() wrote, back into model and optimizer, bit for bit. Throws invalid_argument, naming
// the file, when it does not fit the model; io when it can't be read.
void restore(const std::string& folder, Bert& model, torch::optim::Optimizer& optimizer);

}  // namespace bp::trainer
