#include "comm/torch/gradient_window.h"

#include <ATen/ops/full.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/joined.h"
#include "base/text.h"
#include "bp/collective.h"
#include "bp/log.h"
#include "bp/trace.h"
#include "comm/torch/gradient_hooks.h"
#include "comm/torch/misuse.h"
#include "comm/torch/tensor_view.h"

namespace bp {
namespace {

GradientsOptions gradients_options(const DistributedOptimizerOptions& options,
                                   Owners* owners = nullptr) {
  return {.sparse = options.sparse_gradients,
          .limits = {.first_bytes = options.first_bucket_bytes,
                     .bytes = options.bucket_bytes,
                     .wire = options.wire},
          .error_feedback = options.error_feedback,
          .check_finite = options.loss_scaling.initial > 0 || options.wire == DataType::f16 ||
                          options.error_feedback,
          .owners = owners,
          .frees = frees_gradients(options.shard),
          .adds_up = options.reduce_each,
          .waits = options.layers.empty()};
}

struct Range {
  double least;
  double most;
};

// The positive numbers of a floating type that keep all their digits, and those of f16 that do not,
// because they are what loss scaling is for.
Range normal_numbers_of(at::ScalarType type) {
  using Float = std::numeric_limits<float>;
  using Double = std::numeric_limits<double>;
  if (type == at::kHalf) return {.least = 0x1p-24, .most = 65504};
  if (type == at::kDouble) return {.least = Double::min(), .most = Double::max()};
  return {.least = Float::min(), .most = Float::max()};
}

// Returns what a loss of this type makes of a factor. A half keeps three digits of it or fewer.
double rounded(double factor, at::ScalarType type) {
  if (type != at::kHalf && type != at::kBFloat16) return factor;
  return at::scalar_tensor(factor, at::dtype(type)).item<double>();
}

}  // namespace

GradientWindow::GradientWindow(Communicator& comm,
                               const ParameterSet& parameters,
                               const DistributedOptimizerOptions& options,
                               Owners* owners,
                               FailureLatch& latch,
                               StepAgreement& agreement)
    : comm_(comm),
      parameters_(parameters),
      micro_batches_(options.micro_batches),
      latch_(latch),
      agreement_(agreement),
      forms_(parameters.trained),
      gradients_(comm, parameters.trained, gradients_options(options, owners)),
      loss_scale_(options.loss_scaling),
      hooks_(parameters.trained,
             {.takes = [this](std::size_t i,
                              const at::Tensor& gradient) { return takes_late(i, gradient); },
              .arrived = [this](std::size_t i) { gradients_.arrived(i); }}),
      can_overflow_(gradients_options(options).check_finite),
      runs_fillers_(!options.layers.empty()),
      reduces_each_(options.reduce_each && comm.size() > 1),
      expected_(options.micro_batches),
      nominal_weight_(options.nominal_weight) {}

void GradientWindow::begin(int micro_batches) {
  require_empty("begin_window");
  if (micro_batches < 1) refuse("begin_window(", micro_batches, "): a window has a micro-batch");
  expected_ = micro_batches;
  began_ = Clock::now();
}

// Autograd is about to accumulate a gradient into parameter `i`.
bool GradientWindow::takes_late(std::size_t i, const at::Tensor& gradient) {
  if (!in_backward_) {
    const std::string why =
        concat("parameter ", parameters_.trained[i].name,
               " got a gradient outside of backward(): call backward(loss, weight) instead of "
               "loss.backward() for every loss that runs through it. (If a backward pass inside "
               "that of another optimizer made it: give both networks one optimizer)");
    latch_.set(why);
    refuse(why);
  }
  return is_filler_ ? gradients_.passes(i) : gradients_.takes_late(i, gradient);
}

void GradientWindow::require_empty(const char* call) const {
  if (phase_ != Phase::accumulating || backwards_ > 0) {
    refuse(call, " in the middle of a window: call step() first");
  }
}

void GradientWindow::require_backward_makes_sense(const at::Tensor& loss, double weight) const {
  if (backwards_ == expected_) {
    refuse("backward() for a window that already has its ", backwards_,
           " micro-batches: call step() first, raise micro_batches, or call begin_window()");
  }
  if (phase_ != Phase::accumulating) {
    refuse("backward() after reduce(): call step() first, which begins the next window");
  }
  if (!std::isfinite(weight) || weight < 0) {
    refuse("backward() with weight ", weight,
           ": give the number of samples in the micro-batch's mean loss, 0 for a filler");
  }
  if (weight > 0 && (!loss.defined() || loss.numel() != 1 || !loss.requires_grad())) {
    refuse("backward() needs a scalar loss that depends on the parameters");
  }
  for (const auto& [name, tensor] : parameters_.frozen) {
    if (tensor.requires_grad()) {
      refuse("parameter ", name,
             " was frozen when the optimizer was made and is not reduced: make the optimizer "
             "first, freeze afterwards");
    }
  }
  require_same_forms();
  require_untouched();
}

// The gradients of this window are lost, so no later call can be right.
void GradientWindow::require_untouched() const {
  try {
    gradients_.require_untouched();
  } catch (const Error& error) {
    latch_.set(error.what());
    throw;
  }
}

void GradientWindow::backward(const at::Tensor& loss, double weight, bool retain_graph) {
  latch_.require_usable();
  require_backward_makes_sense(loss, weight);
  latch_.run([&] {
    agree_on_nominal_weight(weight);
    ++backwards_;
    const bool is_last = backwards_ == expected_;
    is_filler_ = weight == 0;
    if (reduces_each_ && !is_last) gradients_.expect_last();
    if (!is_filler_ || (runs_fillers_ && loss.defined() && loss.requires_grad())) {
      const double factor = is_filler_ ? 1 : factor_of(loss, weight);
      if (!is_filler_) add_loss(loss, weight);
      if (is_last) {
        phase_ = Phase::reducing;
        gradients_.expect_last();
      }
      run_backward(loss, factor, retain_graph);
    }
    if (is_last) {
      start_rest(/*is_from_backward=*/true);
    } else if (reduces_each_) {
      gradients_.add_up();
    }
  });
}

// Returns the number that the loss is multiplied by, which must be one of the loss's type.
double GradientWindow::factor_of(const at::Tensor& loss, double weight) const {
  const double factor = weight / nominal_weight_ * loss_scale_.value();
  const auto [least, most] = normal_numbers_of(loss.scalar_type());
  if (!(factor >= least && factor <= most)) {
    refuse("backward() with weight ", weight, " multiplies the loss by ", factor,
           ", since the nominal weight of a window is ", nominal_weight_,
           ", and that is out of the range of ", loss.scalar_type(),
           ": set nominal_weight to about the weight of a window over all ranks");
  }
  return factor;
}

void GradientWindow::add_loss(const at::Tensor& loss, double weight) {
  mine_.weight += weight;
  if (parameters_.device().is_cpu() || loss.device() != parameters_.device()) {
    mine_.weighted_loss += weight * loss.item<double>();
    return;
  }
  // item() would make the host wait for the device in each micro-batch.
  if (!mine_.loss_on_device.defined()) {
    mine_.loss_on_device = at::zeros({}, loss.options().dtype(at::kDouble));
  }
  mine_.loss_on_device.add_(loss.detach().reshape({}), weight);
}

// The first collective of the optimizer's life. The ranks may make it in different calls. A sum, so
// that ranks may have joined: rank 0's number, and the one that counts if rank 0 has none.
void GradientWindow::agree_on_nominal_weight(double first_weight) {
  if (nominal_weight_ > 0) {
    return;
  }
  const double all_alike = first_weight * micro_batches_ * comm_.size();
  std::array<double, 2> sums = {comm_.rank() == 0 ? all_alike : 0, first_weight * micro_batches_};
  if (comm_.size() > 1) {
    all_reduce(comm_, view(sums), {.name = "nominal weight"});
  }
  nominal_weight_ = sums[0] > 0 ? sums[0] : sums[1] > 0 ? sums[1] : 1;
}

// Leaves of other optimizers get no gradient. Autograd need not even compute it, if every step of
// the graph is its own: it then runs only those that lead to the named inputs. A step with other
// code runs always, since it may fill leaves to which the graph does not lead.
void GradientWindow::run_backward(const at::Tensor& loss, double factor, bool retain_graph) {
  const TraceScope scope(comm_.trace(), kTraceRow, "backward");
  hooks_.renew(factor / rounded(factor, loss.scalar_type()));
  LossGraph graph = graph_of(loss, hooks_);
  std::optional<at::TensorList> inputs;
  if (!graph.others.empty() && !graph.runs_other_code) {
    inputs = graph.leaves;
  }
  if (!inputs || !inputs->empty()) {
    const GradientHooks::Shield shield(std::move(graph.others));
    const ScopedFlag in_backward(in_backward_);
    const at::Tensor gradient =
        factor == 1 ? at::Tensor() : at::full(loss.sizes(), factor, loss.options());
    loss.backward(gradient, retain_graph, /*create_graph=*/false, inputs);
  }
  gradients_.backward_ended();
}

void GradientWindow::start_rest(bool is_from_backward) {
  phase_ = Phase::reducing;
  mine_.stops = std::exchange(stop_requested_, false);
  mine_.seconds = std::chrono::duration<double>(Clock::now() - began_).count();
  mine_.fingerprint = agreement_.fingerprint();
  mine_.is_from_backward = is_from_backward;
  gradients_.start_rest(mine_);
}

// Leads from any phase to `reduced`. The division is then still pending.
void GradientWindow::finish_reduction() {
  latch_.require_usable();
  if (phase_ == Phase::reduced) {
    return;
  }
  if (phase_ == Phase::accumulating) {
    require_untouched();
  }
  latch_.run([&] {
    agree_on_nominal_weight(0);
    if (phase_ == Phase::accumulating) {
      for (int i = backwards_ + 1; reduces_each_ && i < expected_; ++i) gradients_.add_up();
      start_rest(/*is_from_backward=*/false);
    }
    const Totals all = [&] {
      const TraceScope scope(comm_.trace(), kTraceRow, "wait for gradients");
      return gradients_.finish();
    }();
    from_all_ranks_ = all.from_all_ranks;
    if (all.fingerprints == Totals::Fingerprints::different && from_all_ranks_) {
      agreement_.settle_difference();
    } else if (all.fingerprints == Totals::Fingerprints::equal && from_all_ranks_) {
      agreement_.confirmed();
    }
    const bool empty = all.weight <= 0;
    result_ = {.loss = empty ? 0 : all.weighted_loss / all.weight,
               .weight = all.weight,
               .seconds = all.seconds,
               .stop = all.stops,
               .overflow = !all.finite};
    pending_scale_ = empty ? 1 : nominal_weight_ / all.weight / loss_scale_.value();
    phase_ = Phase::reduced;
    warn_of_missing();
  });
}

void GradientWindow::warn_of_missing() {
  if (has_warned_ || comm_.rank() > 0 || result_->weight == 0) {
    return;
  }
  const auto missing = gradients_.missing();
  if (missing.empty()) {
    return;
  }
  has_warned_ = true;
  log(LogLevel::warn,
      concat("DistributedOptimizer: no rank has a gradient in this window for ", missing.size(),
             " of ", parameters_.trained.size(), " parameters (", joined_up_to(5, missing),
             "), and step() leaves them as they are. Freeze what the loss does not use. Said "
             "once."));
}

void GradientWindow::scale_gradients(double coefficient) {
  const double factor = pending_scale_ * coefficient;
  pending_scale_ = 1;
  if (factor != 1) {
    gradients_.scale(factor);
  }
}

void GradientWindow::reduce() {
  finish_reduction();
  scale_gradients(1);
}

double GradientWindow::clip_grad_norm(double max_norm) {
  if (!(max_norm > 0)) {
    refuse("clip_grad_norm to ", max_norm, ": the limit must be positive");
  }
  finish_reduction();
  double norm = 0;
  latch_.run([&] { norm = gradients_.norm() * pending_scale_; });
  const double coefficient = max_norm / (norm + 1e-6);  // as torch.nn.utils.clip_grad_norm_
  scale_gradients(std::isfinite(norm) ? std::min(coefficient, 1.0) : 1.0);
  return norm;
}

// Broadcasts rank 0's order of buckets until rank 0 has seen a whole window, which in most runs is
// once.
void GradientWindow::prepare_end() {
  const bool is_agreed = comm_.size() == 1 || !gradients_.order().empty();
  if (phase_ != Phase::reduced || result_->weight <= 0 || is_agreed || !from_all_ranks_) {
    return;
  }
  const std::vector<std::size_t> mine = gradients_.arrival_order();
  std::vector<std::int64_t> order(mine.begin(), mine.end());
  order.resize(parameters_.trained.size(), -1);
  broadcast(comm_, view(order), {.name = "bucket order"});
  if (order.front() >= 0) {
    next_order_.assign(order.begin(), order.end());
  }
}

void GradientWindow::end() {
  if (phase_ != Phase::reduced) {
    return;
  }
  gradients_.clear();
  if (!next_order_.empty()) {
    gradients_.rearrange(std::exchange(next_order_, {}));
  }
  if (result_->weight > 0) {
    gradients_.scale_residuals(loss_scale_.update(result_->overflow));
  }
  phase_ = Phase::accumulating;
  expected_ = micro_batches_;
  backwards_ = 0;
  began_ = Clock::now();
  mine_ = {};
}

GradientWindow::Result GradientWindow::result() const {
  const bool is_new = phase_ != Phase::reduced && (backwards_ > 0 || !result_);
  if (is_new) {
    refuse(
        "window() before the window is reduced: call reduce(), clip_grad_norm() or step() "
        "first");
  }
  return *result_;
}

GradientWindow::State GradientWindow::state() const {
  return {.nominal_weight = nominal_weight_,
          .loss_scale = loss_scale_.value(),
          .good_windows = loss_scale_.good_windows(),
          .bucket_order = {gradients_.order().begin(), gradients_.order().end()},
          .residuals = gradients_.residuals()};
}

bool GradientWindow::rearranges(const State& state) const {
  return !state.bucket_order.empty() && !std::ranges::equal(state.bucket_order, gradients_.order());
}

void GradientWindow::load_state(const State& state) {
  nominal_weight_ = state.nominal_weight;
  loss_scale_.restore(state.loss_scale, state.good_windows);
  if (!state.bucket_order.empty()) {
    gradients_.rearrange({state.bucket_order.begin(), state.bucket_order.end()});
  }
  gradients_.load_residuals(state.residuals);
}

void GradientWindow::broadcast_scales(int root) {
  std::array<double, 3> scales = {nominal_weight_, loss_scale_.value(),
                                  static_cast<double>(loss_scale_.good_windows())};
  broadcast(comm_, view(scales), {.root = root, .name = "scales"});
  gradients_.scale_residuals(scales[1] / loss_scale_.value());
  nominal_weight_ = scales[0];
  loss_scale_.restore(scales[1], static_cast<std::int64_t>(scales[2]));
}

}  // namespace bp
