#include "trainer/train/methods/take_weights.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <vector>

#include "bp/torch/collective.h"
#include "trainer/model/weights.h"

namespace bp::trainer {

void take_weights(Communicator& world, const std::string& folder, Bert& model) {
  if (world.rank() == 0) load_saved(model, folder);
  const at::NoGradGuard no_grad;
  for (const auto& [name, parameter] : saved_parameters(model)) {
    at::Tensor values = parameter.cpu().contiguous();
    broadcast(world, values, {.name = name});
    if (values.data_ptr() != parameter.data_ptr()) at::Tensor(parameter).copy_(values);
  }
  model.parameters_changed();
}

void share_weights(Communicator& world, Bert& model) {
  std::vector<at::Tensor> weights;
  for (const auto& [name, parameter] : model.parameters()) weights.push_back(parameter);
  share_constants(world, weights);
  model.parameters_changed();
}

}  // namespace bp::trainer
