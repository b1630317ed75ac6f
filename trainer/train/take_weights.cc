#include "trainer/train/take_weights.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include "base/text.h"
#include "bp/error.h"
#include "bp/torch/collective.h"
#include "trainer/model/weights.h"

namespace bp::trainer {

void take_weights(Communicator& world, const std::string& folder, Bert& model) {
  if (world.rank() == 0) {
    const std::string file = folder + "/model.safetensors";
    const LoadReport report = load_weights(model, file);
    if (!report.complete() || !report.unexpected.empty()) {
      throw Error(ErrorCode::invalid_argument, concat(file, " holds the weights of another model"));
    }
  }
  const at::NoGradGuard no_grad;
  for (const auto& [name, parameter] : model.parameters()) {
    at::Tensor values = parameter.contiguous();
    broadcast(world, values, {.name = name});
    if (values.data_ptr() != parameter.data_ptr()) at::Tensor(parameter).copy_(values);
  }
  model.parameters_changed();
}

}  // namespace bp::trainer
