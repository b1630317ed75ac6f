// Collectives as functions of autograd. Each is linear, so its backward pass is the transposed
// collective: the sum is its own, gathering and summing into blocks are each other's, and so are a
// broadcast and a sum for the root. A backward pass is made of the same functions, and so has
// derivatives too.
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/variable.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "bp/error.h"
#include "bp/torch/collective.h"
#include "comm/torch/tensor_view.h"

namespace bp {
namespace {

namespace autograd = torch::autograd;

enum class Kind : std::uint8_t { sum, gather, sum_of_block, from_root, sum_for_root };

Kind transposed(Kind kind) {
  switch (kind) {
    case Kind::sum:
      return Kind::sum;
    case Kind::gather:
      return Kind::sum_of_block;
    case Kind::sum_of_block:
      return Kind::gather;
    case Kind::from_root:
      return Kind::sum_for_root;
    case Kind::sum_for_root:
      return Kind::from_root;
  }
  return kind;
}

using Shape = std::vector<std::int64_t>;

// Returns a new tensor of shape `shape`, unknown to autograd.
at::Tensor compute(Kind kind,
                   Communicator& comm,
                   const at::Tensor& tensor,
                   const Shape& shape,
                   const CollectiveOptions& given) {
  at::Tensor mine = tensor.detach().clone(at::MemoryFormat::Contiguous);
  const CollectiveOptions options = after_work_on(mine, given);
  if (kind == Kind::gather || kind == Kind::sum_of_block) {
    const at::Tensor result = at::empty(shape, mine.options());
    if (kind == Kind::gather) {
      all_gather(comm, view_of(mine), view_of(result), options);
    } else {
      reduce_scatter(comm, view_of(mine), view_of(result), options);
    }
    return result;
  }
  if (kind == Kind::from_root) {
    broadcast(comm, view_of(mine), options);
  } else {
    all_reduce(comm, view_of(mine), options);
    if (kind == Kind::sum_for_root && comm.rank() != options.root) mine.zero_();
  }
  return mine;
}

at::Tensor differentiable(Kind kind,
                          Communicator& comm,
                          const at::Tensor& tensor,
                          const Shape& shape,
                          const CollectiveOptions& options);

// A step of a graph with one input and one output.
class CollectiveNode : public autograd::Node {
 public:
  CollectiveNode(Kind kind, Communicator& comm, Shape input, const CollectiveOptions& options)
      : kind_(kind),
        comm_(comm),
        input_(std::move(input)),
        backward_name_(concat(options.name, options.name.empty() ? "" : " ", "backward")),
        options_{.root = options.root, .timeout = options.timeout} {
    if (kind == Kind::sum) {
      options_.op = options.op;
      options_.prescale = options.prescale;
      options_.postscale = options.postscale;
    }
  }

  autograd::variable_list apply(autograd::variable_list&& gradients) override {
    at::Tensor gradient = gradients.at(0);
    if (!gradient.defined()) {  // this rank's loss does not depend on it, but another rank's may
      gradient = input_metadata(0).zeros_like();
    }
    CollectiveOptions options = options_;
    options.name = backward_name_;
    return {differentiable(transposed(kind_), comm_, gradient, input_, options)};
  }
  [[nodiscard]] std::string name() const override { return "bp::" + backward_name_; }

 private:
  Kind kind_;
  Communicator& comm_;
  Shape input_;
  std::string backward_name_;
  CollectiveOptions options_;  // without the name
};

bool needs_gradient(const at::Tensor& tensor) {
  return at::GradMode::is_enabled() && tensor.requires_grad();
}

at::Tensor differentiable(Kind kind,
                          Communicator& comm,
                          const at::Tensor& tensor,
                          const Shape& shape,
                          const CollectiveOptions& options) {
  at::Tensor result = compute(kind, comm, tensor, shape, options);
  if (needs_gradient(tensor)) {
    const std::shared_ptr<autograd::Node> node(
        new CollectiveNode(kind, comm, tensor.sizes().vec(), options), autograd::deleteNode);
    node->set_next_edges(autograd::collect_next_edges(tensor));
    autograd::set_history(result, node);
  }
  return result;
}

}  // namespace

at::Tensor all_reduced(Communicator& comm,
                       const at::Tensor& tensor,
                       const CollectiveOptions& options) {
  if (needs_gradient(tensor) && options.op != ReduceOp::sum && options.op != ReduceOp::average) {
    throw Error(ErrorCode::invalid_argument,
                concat("all_reduced: the ", name_of(options.op),
                       " over ranks has no gradient here: take sum or average, or detach() what "
                       "needs none"));
  }
  return differentiable(Kind::sum, comm, tensor, tensor.sizes().vec(), options);
}

at::Tensor all_gathered(Communicator& comm,
                        const at::Tensor& tensor,
                        const CollectiveOptions& options) {
  Shape shape = tensor.sizes().vec();
  if (shape.empty()) {
    shape.push_back(1);
  }
  shape.front() *= comm.size();
  return differentiable(Kind::gather, comm, tensor, shape, options);
}

at::Tensor broadcasted(Communicator& comm,
                       const at::Tensor& tensor,
                       const CollectiveOptions& options) {
  return differentiable(Kind::from_root, comm, tensor, tensor.sizes().vec(), options);
}

}  // namespace bp
