// How a program lets bert_train change the parameters, and by how much in each step. See run.h.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bp/export.h"

namespace at {
class Tensor;
}

namespace BP_API bp {

struct OptimizerStep {
  double lr = 0;            // of this step, as the schedule has it
  double weight_decay = 0;  // 0 for biases and norms
  std::int64_t number = 1;  // of this parameter's updates, from 1
};

// Called by one thread. An exception ends the command with its text.
class CustomOptimizer {
 public:
  virtual ~CustomOptimizer() = default;

  [[nodiscard]] virtual std::string name() const = 0;  // that --optimizer chooses it by
  // The names of the tensors that are kept of each parameter, for example "exp_avg". They have its
  // shape, are 0 at first, and are saved in checkpoints.
  [[nodiscard]] virtual std::vector<std::string> moments() const = 0;
  // Whether update() treats each element by itself, so that it may get a vector of some elements of
  // a parameter (Shard of bp/torch/distributed_optimizer.h).
  [[nodiscard]] virtual bool is_elementwise() const { return false; }
  // Changes a parameter and its moments in place. `gradient`: the mean over all ranks, clipped.
  // Every rank computes the same update from the same numbers. All lie on the model's device.
  virtual void update(at::Tensor& parameter,
                      const at::Tensor& gradient,
                      std::vector<at::Tensor>& moments,
                      const OptimizerStep& step) const = 0;
};

struct CustomSchedule {
  std::string name;  // that --schedule chooses it by
  // Returns the share of the highest rate. `left`: the share of the steps after the warm-up that is
  // not done yet, from 1 at the first of them down to almost 0. The linear schedule returns `left`.
  std::function<double(double left)> share;
};

}  // namespace bp
