#include "trainer/model/passes/recompute.h"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cstddef>
#include <utility>

namespace bp::trainer {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Compute = std::function<Tensor(const Tensor&)>;

struct KeptCompute : torch::CustomClassHolder {
  Compute compute;
};

// A nested backward pass returns its gradients instead of adding them to the parameters, so that
// the outer one sees each of them once.
struct Recompute : torch::autograd::Function<Recompute> {
  static Tensor forward(AutogradContext* ctx,
                        const Tensor& x,
                        at::TensorList parameters,
                        const Compute& compute) {
    variable_list saved{x};
    saved.insert(saved.end(), parameters.begin(), parameters.end());
    ctx->save_for_backward(std::move(saved));
    auto kept = c10::make_intrusive<KeptCompute>();
    kept->compute = compute;
    ctx->saved_data["kept"] = c10::IValue::make_capsule(std::move(kept));
    return compute(x);
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    variable_list inputs = ctx->get_saved_variables();
    const auto kept =
        c10::dynamic_intrusive_pointer_cast<KeptCompute>(ctx->saved_data["kept"].toCapsule());
    inputs.front() = inputs.front().detach().requires_grad_(inputs.front().requires_grad());
    variable_list needed;
    for (const Tensor& input : inputs) {
      if (input.requires_grad()) needed.push_back(input);
    }
    const at::AutoGradMode on(true);
    const Tensor y = kept->compute(inputs.front());
    const variable_list computed =
        torch::autograd::grad({y}, needed, gradients, /*retain_graph=*/false,
                              /*create_graph=*/false, /*allow_unused=*/true);
    variable_list result;
    std::size_t next = 0;
    for (const Tensor& input : inputs) {
      result.push_back(input.requires_grad() ? computed[next++] : Tensor());
    }
    result.emplace_back();  // of `compute`
    return result;
  }
};

}  // namespace

Tensor recompute(const Tensor& x, const std::vector<Tensor>& parameters, Compute compute) {
  return Recompute::apply(x, at::TensorList(parameters), compute);
}

}  // namespace bp::trainer
