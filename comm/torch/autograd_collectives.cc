#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/variable.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/text.h"
#include "bp/error.h"
#include "bp/torch/collective.h"
#include "comm/torch/tensor_view.h"

namespace bp {
namespace {

namespace autograd = torch::autograd;

using Backward = std::function<at::Tensor(const at::Tensor& gradient)>;

// A step of a graph with one input and one output.
class CollectiveNode : public autograd::Node {
 public:
  CollectiveNode(std::string name, Backward backward)
      : name_(std::move(name)), backward_(std::move(backward)) {}

  autograd::variable_list apply(autograd::variable_list&& gradients) override {
    const at::NoGradGuard no_grad;
    at::Tensor gradient = gradients.at(0);
    if (!gradient.defined()) {  // this rank's loss does not depend on it, but another rank's may
      gradient = input_metadata(0).zeros_like();
    }
    return {backward_(gradient)};
  }
  [[nodiscard]] std::string name() const override { return name_; }

 private:
  std::string name_;
  Backward backward_;
};

bool needs_gradient(const at::Tensor& tensor) {
  return at::GradMode::is_enabled() && tensor.requires_grad();
}

// Makes `output` the result of `input` in autograd's graph.
at::Tensor with_gradient(const at::Tensor& input,
                         at::Tensor output,
                         const char* name,
                         Backward backward) {
  if (needs_gradient(input)) {
    const std::shared_ptr<autograd::Node> node(new CollectiveNode(name, std::move(backward)),
                                               autograd::deleteNode);
    node->set_next_edges(autograd::collect_next_edges(input));
    autograd::set_history(output, node);
  }
  return output;
}

at::Tensor copy_of(const at::Tensor& tensor) {
  return tensor.detach().clone(at::MemoryFormat::Contiguous);
}

std::string backward_name(const CollectiveOptions& options) {
  return concat(options.name, options.name.empty() ? "" : " ", "backward");
}

}  // namespace

at::Tensor all_reduced(Communicator& comm,
                       const at::Tensor& tensor,
                       const CollectiveOptions& options) {
  const ReduceOp op = options.op;
  if (needs_gradient(tensor) && op != ReduceOp::sum && op != ReduceOp::average) {
    throw Error(ErrorCode::invalid_argument,
                concat("all_reduced: the ", name_of(op),
                       " over ranks has no gradient here: take sum or average, or detach() what "
                       "needs none"));
  }
  at::Tensor result = copy_of(tensor);
  all_reduce(comm, view_of(result), after_work_on(result, options));
  return with_gradient(
      tensor, result, "bp::all_reduced",
      [&comm, op, name = backward_name(options), timeout = options.timeout](const auto& gradient) {
        at::Tensor sum = copy_of(gradient);
        all_reduce(comm, view_of(sum),
                   after_work_on(sum, {.op = op, .name = name, .timeout = timeout}));
        return sum;
      });
}

at::Tensor all_gathered(Communicator& comm,
                        const at::Tensor& tensor,
                        const CollectiveOptions& options) {
  const at::Tensor mine = copy_of(tensor);
  auto shape = tensor.sizes().vec();
  if (shape.empty()) {
    shape.push_back(1);
  }
  shape.front() *= comm.size();
  at::Tensor result = at::empty(shape, mine.options());
  all_gather(comm, view_of(mine), view_of(result), after_work_on(result, options));
  return with_gradient(tensor, result, "bp::all_gathered",
                       [&comm, sizes = tensor.sizes().vec(), name = backward_name(options),
                        timeout = options.timeout](const auto& gradient) {
                         const at::Tensor whole = copy_of(gradient);
                         at::Tensor block = at::empty(sizes, whole.options());
                         reduce_scatter(comm, view_of(whole), view_of(block),
                                        after_work_on(block, {.name = name, .timeout = timeout}));
                         return block;
                       });
}

at::Tensor broadcasted(Communicator& comm,
                       const at::Tensor& tensor,
                       const CollectiveOptions& options) {
  at::Tensor result = copy_of(tensor);
  broadcast(comm, view_of(result), after_work_on(result, options));
  return with_gradient(tensor, result, "bp::broadcasted",
                       [&comm, root = options.root, name = backward_name(options),
                        timeout = options.timeout](const auto& gradient) {
                         at::Tensor sum = copy_of(gradient);
                         all_reduce(comm, view_of(sum),
                                    after_work_on(sum, {.name = name, .timeout = timeout}));
                         return comm.rank() == root ? sum : at::zeros_like(sum);
                       });
}

}  // namespace bp
