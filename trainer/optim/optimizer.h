// The optimizer of a run, whichever it is. The training loop and the checkpoints use an optimizer
// through this header only.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trainer/options/options.h"

namespace at {
class Tensor;
}
namespace torch::optim {
class Optimizer;
}

namespace bp::trainer {

class OptimizerState;

using NamedParameters = std::vector<std::pair<std::string, at::Tensor>>;

// Returns the optimizer that `options` ask for, over those of these parameters that require a
// gradient. Weight decay applies to
// matrices only, not to biases and layer norms, as in BERT's own training. With options.layer_decay
// D, the rate of a parameter is the run's times D^k, where k is 0 for the head and the pooler, 1
// for the last layer, and layers + 1 for the embeddings (Clark et al. 2020, Bao et al. 2022). Call
// set_learning_rate() before the first step.
[[nodiscard]] std::unique_ptr<torch::optim::Optimizer> make_optimizer(
    const NamedParameters& parameters, const TrainOptions& options);

// Sets the learning rate of the run, from the next step on.
void set_learning_rate(torch::optim::Optimizer& optimizer, double lr);

// Returns OptimizerState::moment_names() of the optimizer that make_optimizer(options) will return:
// "exp_avg" and "exp_avg_sq" for AdamW.
[[nodiscard]] std::vector<std::string> moment_names(const TrainOptions& options);

// Returns the state of an optimizer that make_optimizer() returned; valid as long as the optimizer.
[[nodiscard]] OptimizerState& state_of(torch::optim::Optimizer& optimizer);

}  // namespace bp::trainer
