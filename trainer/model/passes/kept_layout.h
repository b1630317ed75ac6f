// An autograd Function keeps this for its backward pass, besides tensors.
#pragma once

#include <torch/csrc/autograd/custom_function.h>

#include <utility>

#include "trainer/model/passes/functions.h"
#include "trainer/model/passes/passes.h"

namespace bp::trainer {

struct KeptLayout : torch::CustomClassHolder {
  LayoutPtr layout;
  Dropout dropout;
  Heads heads;
};

inline void keep(torch::autograd::AutogradContext* ctx,
                 const LayoutPtr& layout,
                 const Dropout& dropout,
                 const Heads& heads = {}) {
  auto kept = c10::make_intrusive<KeptLayout>();
  kept->layout = layout;
  kept->dropout = dropout;
  kept->heads = heads;
  ctx->saved_data["kept"] = c10::IValue::make_capsule(std::move(kept));
}

inline c10::intrusive_ptr<KeptLayout> kept_by(torch::autograd::AutogradContext* ctx) {
  return c10::dynamic_intrusive_pointer_cast<KeptLayout>(ctx->saved_data["kept"].toCapsule());
}

}  // namespace bp::trainer
