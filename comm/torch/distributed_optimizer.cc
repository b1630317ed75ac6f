#include "bp/torch/distributed_optimizer.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <typeinfo>
#include <utility>

#include <c10/util/Type.h>

#include "comm/torch/agreement.h"
#include "comm/torch/optimizer_impl.h"
#include "comm/torch/refuse.h"
#include "comm/torch/state_broadcast.h"

namespace bp {
namespace {

DistributedOptimizerOptions checked(const DistributedOptimizerOptions& options) {
  if (options.micro_batches < 1) {
    refuse("micro_batches is ", options.micro_batches, ", but a window has at least one");
  }
  if (!std::isfinite(options.nominal_weight) || options.nominal_weight < 0) {
    refuse("nominal_weight is ", options.nominal_weight,
           ", but must be positive, or 0 for the default");
  }
  if (options.wire != DataType::f32 && options.wire != DataType::f16 &&
      options.wire != DataType::bf16) {
    refuse("wire is ", name_of(options.wire), ", but gradients travel as f32, f16 or bf16");
  }
  if (options.error_feedback && options.wire == DataType::f32) {
    refuse(
        "error_feedback without a narrow wire, where nothing is rounded: set wire to f16 or bf16");
  }
  return options;
}

GradientsOptions gradients_options(const DistributedOptimizerOptions& options) {
  return {.sparse = options.sparse_gradients,
          .limits = {.first_bytes = options.first_bucket_bytes,
                     .bytes = options.bucket_bytes,
                     .wire = options.wire},
          .error_feedback = options.error_feedback,
          .check_finite = options.loss_scaling.initial > 0 || options.wire == DataType::f16 ||
                          options.error_feedback};
}

// Everything in which ranks must be equal for their buckets to fit together.
void require_agreement(Communicator& comm,
                       const ParameterSet& parameters,
                       const torch::optim::Optimizer& optimizer,
                       const DistributedOptimizerOptions& options) {
  const LossScaling& scaling = options.loss_scaling;
  std::vector<std::string> lines = {
      concat("optimizer ", c10::demangle(typeid(optimizer).name())),
      concat("first_bucket_bytes ", options.first_bucket_bytes),
      concat("bucket_bytes ", options.bucket_bytes),
      concat("nominal_weight ", options.nominal_weight),
      concat("wire ", name_of(options.wire), options.error_feedback ? " with error_feedback" : ""),
      concat("loss_scaling ", scaling.initial, ", growth ", scaling.growth, ", backoff ",
             scaling.backoff, ", interval ", scaling.interval),
  };
  for (const std::string& name : options.sparse_gradients) {
    lines.push_back(concat("sparse_gradients ", name));
  }
  for (const Parameter& buffer : check_buffers(options.buffers)) {
    lines.push_back(concat("buffer ", describe(buffer)));
  }
  std::ranges::copy(describe(parameters, members_of(optimizer)), std::back_inserter(lines));
  require_same_lines(comm, lines, "DistributedOptimizer");
}

void require_known(const std::vector<std::string>& sparse, const ParameterSet& parameters) {
  for (const std::string& name : sparse) {
    const auto found = std::ranges::find(parameters.trained, name, &Parameter::name);
    if (found == parameters.trained.end() || found->tensor.dim() == 0) {
      refuse("sparse_gradients names ", name, ", which is no trained parameter with rows");
    }
  }
}

void require_plausible(const DistributedOptimizer::State& state, std::size_t parameters) {
  std::vector<std::int64_t> sorted = state.bucket_order;
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (sorted.size() != parameters || sorted[i] != static_cast<std::int64_t>(i)) {
      refuse("the state has a bucket order of ", sorted.size(), " parameters which is none of the ",
             parameters, " here: load it into the same model");
    }
  }
  const bool scales = std::isfinite(state.nominal_weight) && state.nominal_weight >= 0 &&
                      std::isfinite(state.loss_scale) && state.loss_scale > 0;
  if (!scales) {
    refuse("the state has nominal weight ", state.nominal_weight, " and loss scale ",
           state.loss_scale, ", which cannot be");
  }
}

// What must be equal on all ranks.
std::vector<std::string> describe(const DistributedOptimizer::State& state) {
  std::string order = "bucket order";
  for (const std::int64_t i : state.bucket_order) {
    order += concat(" ", i);
  }
  return {concat("nominal_weight ", state.nominal_weight), concat("loss_scale ", state.loss_scale),
          concat("good_windows ", state.good_windows), order};
}

}  // namespace

DistributedOptimizer::Impl::Impl(Communicator& comm,
                                 const NamedTensors& parameters,
                                 std::unique_ptr<torch::optim::Optimizer> optimizer,
                                 const DistributedOptimizerOptions& options)
    : comm_(comm),
      options_(checked(options)),
      parameters_(sort_parameters(parameters)),
      optimizer_(std::move(optimizer)),
      gradients_(comm, parameters_.trained, gradients_options(options)),
      loss_scale_(options.loss_scaling),
      hooks_(parameters_.trained,
             [this](std::size_t i) {
               if (!in_backward_) {
                 failure_ =
                     concat("parameter ", parameters_.trained[i].name,
                            " got a gradient outside of backward(): call backward(loss, weight) "
                            "instead of loss.backward() for every loss that runs through it");
                 refuse(failure_);
               }
               gradients_.arrived(i);
             }),
      nominal_weight_(options.nominal_weight),
      can_overflow_(gradients_options(options).check_finite) {
  require_known(options_.sparse_gradients, parameters_);
  agree_on_members();
  std::vector<Parameter> buffers = check_buffers(options.buffers);
  if (comm.size() > 1 && !buffers.empty()) {
    buffers_.emplace(comm, std::move(buffers));
  }
}

void DistributedOptimizer::Impl::share_buffers(int root) {
  if (buffers_) {
    buffers_->broadcast(root, false, "buffers");
  }
}

// Also when the wrapped optimizer has got other parameters since: ranks that step different ones
// would drift apart.
void DistributedOptimizer::Impl::agree_on_members() {
  Members now = members_of(*optimizer_);
  if (now == members_) {
    return;
  }
  require_all_named(*optimizer_, parameters_);
  if (comm_.size() > 1) {
    require_agreement(comm_, parameters_, *optimizer_, options_);
  }
  members_ = std::move(now);
}

void DistributedOptimizer::Impl::require_usable() const {
  if (!failure_.empty()) {
    throw Error(ErrorCode::aborted,
                concat("DistributedOptimizer: unusable since an earlier call failed: ", failure_));
  }
}

void DistributedOptimizer::Impl::require_between_windows(const char* call) const {
  if (phase_ != Phase::accumulating || backwards_ > 0) {
    refuse(call, " in the middle of a window: call step() first");
  }
}

void DistributedOptimizer::Impl::zero_grad() const {
  require_usable();
  require_between_windows("zero_grad");
}

void DistributedOptimizer::Impl::broadcast_parameters(int root) {
  require_usable();
  if (root < 0 || root >= comm_.size()) {
    refuse("broadcast_parameters from rank ", root, " of ", comm_.size());
  }
  require_between_windows("broadcast_parameters");
  if (comm_.size() == 1) {
    return;
  }
  unusable_if_it_throws([&] {
    broadcast_tensors(comm_, parameters_.trained, root);
    broadcast_tensors(comm_, parameters_.frozen, root);
    broadcast_state(comm_, *optimizer_, root);
    share_buffers(root);
    state_is_on_rank_0_ = false;
  });
}

DistributedOptimizer::State DistributedOptimizer::Impl::state() const {
  require_between_windows("state");
  return {.nominal_weight = nominal_weight_,
          .loss_scale = loss_scale_.value(),
          .good_windows = loss_scale_.good_windows(),
          .bucket_order = {gradients_.order().begin(), gradients_.order().end()},
          .residuals = gradients_.residuals()};
}

void DistributedOptimizer::Impl::load_state(const State& state) {
  require_usable();
  require_between_windows("load_state");
  require_plausible(state, parameters_.trained.size());
  if (comm_.size() > 1) {
    require_same_lines(comm_, describe(state), "DistributedOptimizer::load_state");
  }
  nominal_weight_ = state.nominal_weight;
  loss_scale_.restore(state.loss_scale, state.good_windows);
  if (!state.bucket_order.empty()) {
    gradients_.rearrange({state.bucket_order.begin(), state.bucket_order.end()});
  }
  gradients_.load_residuals(state.residuals);
}

DistributedOptimizer::DistributedOptimizer(Communicator& comm,
                                           const NamedTensors& parameters,
                                           std::unique_ptr<torch::optim::Optimizer> optimizer,
                                           const DistributedOptimizerOptions& options,
                                           Start start)
    : impl_(std::make_unique<Impl>(comm, parameters, std::move(optimizer), options)) {
  if (start == Start::from_rank_0) {
    broadcast_parameters();
  }
}

DistributedOptimizer::~DistributedOptimizer() = default;

void DistributedOptimizer::broadcast_parameters(int root) { impl_->broadcast_parameters(root); }
void DistributedOptimizer::backward(const at::Tensor& loss, double weight, bool retain_graph) {
  impl_->backward(loss, weight, retain_graph);
}
void DistributedOptimizer::zero_grad() { impl_->zero_grad(); }
void DistributedOptimizer::reduce() { impl_->reduce(); }
double DistributedOptimizer::clip_grad_norm(double max_norm) {
  return impl_->clip_grad_norm(max_norm);
}
bool DistributedOptimizer::step() { return impl_->step(); }
bool DistributedOptimizer::step(const std::function<void()>& closure) {
  return impl_->step(closure);
}
DistributedOptimizer::Window DistributedOptimizer::window() const { return impl_->window(); }
DistributedOptimizer::State DistributedOptimizer::state() const { return impl_->state(); }
void DistributedOptimizer::load_state(const State& state) { impl_->load_state(state); }
void DistributedOptimizer::request_stop() { impl_->request_stop(); }
double DistributedOptimizer::nominal_weight() const { return impl_->nominal_weight(); }
std::size_t DistributedOptimizer::bucket_count() const { return impl_->gradients().bucket_count(); }
std::uint64_t DistributedOptimizer::collectives() const { return impl_->gradients().started(); }
torch::optim::Optimizer& DistributedOptimizer::optimizer() { return impl_->optimizer(); }

}  // namespace bp
