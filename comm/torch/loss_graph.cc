#include "comm/torch/loss_graph.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <unordered_set>

namespace bp {

LossGraph graph_of(const at::Tensor& loss, const GradientHooks& own) {
  namespace autograd = torch::autograd;
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
