#include "comm/torch/gradient_hooks.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <memory>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "bp/error.h"

namespace bp {

namespace autograd = torch::autograd;

// A hook of the node, not of the tensor, so that it gets what the program's own hooks on the tensor
// have made of the gradient.
class GradientHooks::Before : public autograd::FunctionPreHook {
 public:
  Before(GradientHooks& owner, std::size_t index) : owner_(owner), index_(index) {}
  autograd::variable_list operator()(const autograd::variable_list& gradients) override {
    at::Tensor gradient = gradients.at(0);
    const bool is_shielded = !gradient.defined() || owner_.shields_ > 0;
    if (!is_shielded && owner_.factor_ != 1) gradient = gradient.mul(owner_.factor_);
    const bool drops = is_shielded || owner_.calls_.takes(index_, gradient);
    owner_.dropped_[index_] = drops;
    return {drops ? at::Tensor() : gradient};
  }
  [[nodiscard]] bool is_of(const GradientHooks& owner) const { return &owner_ == &owner; }

 private:
  GradientHooks& owner_;
  std::size_t index_;
};

// LibTorch calls it after nothing has been accumulated, too.
class GradientHooks::After : public autograd::PostAccumulateGradHook {
 public:
  After(GradientHooks& owner, std::size_t index) : owner_(owner), index_(index) {}
  void operator()(const autograd::Variable&) override {
    if (!owner_.dropped_[index_]) owner_.calls_.arrived(index_);
  }
  [[nodiscard]] GradientHooks& owner() const { return owner_; }

 private:
  GradientHooks& owner_;
  std::size_t index_;
};

GradientHooks::GradientHooks(const std::vector<Parameter>& parameters, Calls calls)
    : calls_(std::move(calls)) {
  for (const auto& [name, tensor] : parameters) {
    if (autograd::impl::post_acc_grad_hooks(tensor)) {
      remove();
      throw Error(ErrorCode::invalid_argument,
                  concat("DistributedOptimizer: parameter ", name,
                         " already belongs to another one: destroy that first"));
    }
    const std::size_t index = tensors_.size();
    autograd::impl::set_post_acc_grad_hooks(tensor, std::make_unique<After>(*this, index));
    tensors_.push_back(tensor);
    dropped_.push_back(false);
    nodes_.push_back(autograd::impl::grad_accumulator(tensor));
    nodes_.back()->add_pre_hook(std::make_unique<Before>(*this, index));
  }
}

GradientHooks::~GradientHooks() { remove(); }

void GradientHooks::renew(double factor) {
  factor_ = factor;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const auto now = autograd::impl::try_get_grad_accumulator(tensors_[i]);
    if (!now || now == nodes_[i]) continue;
    remove_before(*nodes_[i]);
    nodes_[i] = now;
    now->add_pre_hook(std::make_unique<Before>(*this, i));
  }
}

void GradientHooks::remove_before(autograd::Node& node) const {
  std::erase_if(node.pre_hooks(), [this](const auto& hook) {
    const auto* const own = dynamic_cast<const Before*>(hook.get());
    return own != nullptr && own->is_of(*this);
  });
}

void GradientHooks::remove() noexcept {
  for (const at::Tensor& tensor : tensors_) {
    autograd::impl::post_acc_grad_hooks(tensor).reset();
  }
  for (const auto& node : nodes_) remove_before(*node);
}

GradientHooks* GradientHooks::of(const at::Tensor& leaf) {
  const auto* const hook =
      dynamic_cast<const After*>(autograd::impl::post_acc_grad_hooks(leaf).get());
  return hook == nullptr ? nullptr : &hook->owner();
}

GradientHooks::Shield::Shield(std::vector<GradientHooks*> these) : these_(std::move(these)) {
  for (GradientHooks* one : these_) ++one->shields_;
}

GradientHooks::Shield::~Shield() {
  for (GradientHooks* one : these_) --one->shields_;
}

LossGraph graph_of(const at::Tensor& loss, const GradientHooks& own) {
  LossGraph graph;
  const autograd::Edge root = autograd::impl::gradient_edge(loss);
  std::vector<autograd::Node*> rest = {root.function.get()};
  std::unordered_set<const autograd::Node*> seen = {root.function.get()};
  while (!rest.empty()) {
    autograd::Node* const node = rest.back();
    rest.pop_back();
    if (const auto* const leaf = dynamic_cast<autograd::AccumulateGrad*>(node)) {
      GradientHooks* const owner = GradientHooks::of(leaf->variable);
      if (owner == nullptr || owner == &own) {
        graph.leaves.push_back(leaf->variable);
      } else if (std::ranges::count(graph.others, owner) == 0) {
        graph.others.push_back(owner);
      }
      continue;
    }
    graph.runs_other_code = graph.runs_other_code || !node->is_traceable();
    for (const autograd::Edge& edge : node->next_edges()) {
      if (edge.is_valid() && seen.insert(edge.function.get()).second) {
        rest.push_back(edge.function.get());
      }
    }
  }
  return graph;
}

}  // namespace bp
