#include "trainer/train/freeze.h"

#include <ATen/core/Tensor.h>

#include "base/text.h"
#include "trainer/data/input_error.h"
#include "trainer/optim/model_parts.h"

namespace bp::trainer {

void freeze(Bert& model, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    bool trained = model.lora() == nullptr;
    for (const std::string& begin : frozen_names({part}, model.config().layers)) {
      for (const auto& [name, parameter] : model.parameters()) {
        if (!name.starts_with(begin)) continue;
        trained = trained || parameter.requires_grad();
        parameter.requires_grad_(false);
      }
    }
    if (trained) continue;
    throw InputError(2, concat("--freeze ", part, " has no effect: --lora trains nothing in it"),
                     concat("leave out ", part));
  }
}

void choose_gradients(Bert& model, const std::vector<std::string>& frozen) {
  freeze(model, frozen);
  model.use_sparse_gradients();
}

}  // namespace bp::trainer
