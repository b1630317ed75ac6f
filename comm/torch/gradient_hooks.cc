#include "comm/torch/gradient_hooks.h"

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <memory>
#include <utility>

#include "base/text.h"
#include "bp/error.h"

namespace bp {

namespace autograd = torch::autograd;

class GradientHooks::Hook : public autograd::PostAccumulateGradHook {
 public:
  Hook(const GradientHooks& owner, std::size_t index) : owner_(owner), index_(index) {}
  void operator()(const autograd::Variable&) override { owner_.arrived_(index_); }

 private:
  const GradientHooks& owner_;
  std::size_t index_;
};

GradientHooks::GradientHooks(const std::vector<Parameter>& parameters,
                             std::function<void(std::size_t)> arrived)
    : arrived_(std::move(arrived)) {
  for (const auto& [name, tensor] : parameters) {
    if (autograd::impl::post_acc_grad_hooks(tensor)) {
      remove();
      throw Error(ErrorCode::invalid_argument,
                  concat("DistributedOptimizer: parameter ", name,
                         " already belongs to another one: destroy that first"));
    }
    const std::size_t index = tensors_.size();
    autograd::impl::set_post_acc_grad_hooks(tensor, std::make_unique<Hook>(*this, index));
    tensors_.push_back(tensor);
  }
}

GradientHooks::~GradientHooks() { remove(); }

void GradientHooks::remove() noexcept {
  for (const at::Tensor& tensor : tensors_) {
    autograd::impl::post_acc_grad_hooks(tensor).reset();
  }
}

}  // namespace bp
