#include "comm/torch/gradient_window.h"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>

#include "base/text.h"
#include "bp/collective.h"
#include "bp/log.h"
#include "bp/trace.h"
#include "comm/torch/refuse.h"
#include "comm/torch/tensor_view.h"

namespace bp {
namespace {

GradientsOptions gradients_options(const DistributedOptimizerOptions& options) {
  return {.sparse = options.sparse_gradients,
          .limits = {.first_bytes = options.first_bucket_bytes,
                     .bytes = options.bucket_bytes,
                     .wire = options.wire},
          .error_feedback = options.error_feedback,
          .check_finite = options.loss_scaling.initial > 0 || options.wire == DataType::f16 ||
                          options.error_feedback};
}

// "a, b, c and 4 more"
std::string enumerate(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  return names.size() <= kShown ? text : concat(text, " and ", names.size() - kShown, " more");
}

}  // namespace

GradientWindow::GradientWindow(Communicator& comm,
                               const ParameterSet& parameters,
                               const DistributedOptimizerOptions& options,
                               FailureLatch& latch)
    : comm_(comm),
      parameters_(parameters),
      micro_batches_(options.micro_batches),
      latch_(latch),
      gradients_(comm, parameters.trained, gradients_options(options)),
      loss_scale_(options.loss_scaling),
      hooks_(parameters.trained, [this](std::size_t i) { gradient_arrived(i); }),
      can_overflow_(gradients_options(options).check_finite),
      nominal_weight_(options.nominal_weight) {}

// Autograd has accumulated a gradient into parameter `i`.
void GradientWindow::gradient_arrived(std::size_t i) {
  if (!in_backward_) {
    const std::string why =
        concat("parameter ", parameters_.trained[i].name,
               " got a gradient outside of backward(): call backward(loss, weight) instead of "
               "loss.backward() for every loss that runs through it");
    latch_.set(why);
    refuse(why);
  }
  gradients_.arrived(i);
}

void GradientWindow::require_empty(const char* call) const {
  if (phase_ != Phase::accumulating || backwards_ > 0) {
    refuse(call, " in the middle of a window: call step() first");
  }
}

void GradientWindow::require_backward_makes_sense(const at::Tensor& loss, double weight) const {
  if (backwards_ == micro_batches_) {
    refuse("backward() for a window that already has its ", backwards_,
           " micro-batches: call step() first, or raise micro_batches");
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
    if (weight > 0) {
      add_loss(loss, weight);
    }
    const bool is_last = backwards_ == micro_batches_;
    if (is_last && weight > 0) {
      close();
      gradients_.expect_last(mine_);
    }
    if (weight > 0) {
      run_backward(loss, weight, retain_graph);
    }
    if (is_last) {
      close();
      gradients_.start_rest(mine_);
    }
  });
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

// The first collective of the optimizer's life. The ranks may make it in different calls.
void GradientWindow::agree_on_nominal_weight(double first_weight) {
  if (nominal_weight_ > 0) {
    return;
  }
  double nominal = first_weight > 0 ? first_weight * micro_batches_ * comm_.size() : 1;
  if (comm_.size() > 1) {
    std::span one(&nominal, 1);
    broadcast(comm_, view(one), {.name = "nominal weight"});
  }
  nominal_weight_ = nominal;
}

void GradientWindow::run_backward(const at::Tensor& loss, double weight, bool retain_graph) {
  const TraceScope scope(comm_.trace(), kTraceRow, "backward");
  // The inputs are named so that no other leaf of the graph gets a gradient. Those of another
  // optimizer belong to it.
  std::vector<at::Tensor> inputs;
  for (const auto& [name, tensor] : parameters_.trained) {
    if (tensor.requires_grad()) {
      inputs.push_back(tensor);
    }
  }
  if (inputs.empty()) {
    return;
  }
  const ScopedFlag in_backward(in_backward_);
  const double scale = weight / nominal_weight_ * loss_scale_.value();
  const at::Tensor gradient =
      scale == 1 ? at::Tensor() : at::full(loss.sizes(), scale, loss.options());
  loss.backward(gradient, retain_graph, /*create_graph=*/false, inputs);
}

void GradientWindow::close() {
  if (phase_ == Phase::accumulating) {
    phase_ = Phase::reducing;
    mine_.stops = std::exchange(stop_requested_, false) ? 1 : 0;
  }
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
      close();
      gradients_.start_rest(mine_);
    }
    const Totals all = [&] {
      const TraceScope scope(comm_.trace(), kTraceRow, "wait for gradients");
      return gradients_.finish();
    }();
    const bool empty = all.weight <= 0;
    result_ = {.loss = empty ? 0 : all.weighted_loss / all.weight,
               .weight = all.weight,
               .stop = all.stops > 0,
               .overflow = !all.finite};
    pending_scale_ = empty ? 1 : nominal_weight_ / all.weight / loss_scale_.value();
    phase_ = Phase::reduced;
    warn_of_missing();
  });
}

void GradientWindow::warn_of_missing() {
  if (has_warned_ || mine_.weight == 0) {
    return;
  }
  const auto missing = gradients_.missing();
  if (missing.empty()) {
    return;
  }
  has_warned_ = true;
  log(LogLevel::warn,
      concat("DistributedOptimizer: no gradient in this window for ", missing.size(), " of ",
             parameters_.trained.size(), " parameters (", enumerate(missing),
             "); it counts as zero. Freeze what the loss does not use. Said once."));
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

// Returns the 2-norm of the sums, before the pending division.
double GradientWindow::norm_of_sums() {
  double norm = gradients_.norm();
  // Devices add in orders of their own, and the clip coefficient must have the same bits on all
  // ranks.
  if (comm_.size() > 1 && !parameters_.device().is_cpu()) {
    latch_.run([&] {
      std::span one(&norm, 1);
      broadcast(comm_, view(one), {.name = "gradient norm"});
    });
  }
  return norm;
}

double GradientWindow::clip_grad_norm(double max_norm) {
  if (!(max_norm > 0)) {
    refuse("clip_grad_norm to ", max_norm, ": the limit must be positive");
  }
  finish_reduction();
  const double norm = norm_of_sums() * pending_scale_;
  const double coefficient = max_norm / (norm + 1e-6);  // as torch.nn.utils.clip_grad_norm_
  scale_gradients(std::isfinite(norm) ? std::min(coefficient, 1.0) : 1.0);
  return norm;
}

// Broadcasts rank 0's order until rank 0 has seen a whole window, which in most runs is once.
void GradientWindow::agree_on_bucket_order(std::vector<std::size_t> mine) {
  if (comm_.size() == 1 || !gradients_.order().empty()) {
    return;
  }
  std::vector<std::int64_t> order(mine.begin(), mine.end());
  order.resize(parameters_.trained.size(), -1);
  broadcast(comm_, view(order), {.name = "bucket order"});
  if (order.front() >= 0) {
    gradients_.rearrange({order.begin(), order.end()});
  }
}

void GradientWindow::end() {
  if (phase_ != Phase::reduced) {
    return;
  }
  std::vector<std::size_t> arrivals = gradients_.arrival_order();
  gradients_.clear();
  if (result_->weight > 0) {
    agree_on_bucket_order(std::move(arrivals));
    gradients_.scale_residuals(loss_scale_.update(result_->overflow));
  }
  phase_ = Phase::accumulating;
  backwards_ = 0;
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

void GradientWindow::load_state(const State& state) {
  nominal_weight_ = state.nominal_weight;
  loss_scale_.restore(state.loss_scale, state.good_windows);
  if (!state.bucket_order.empty()) {
    gradients_.rearrange({state.bucket_order.begin(), state.bucket_order.end()});
  }
  gradients_.load_residuals(state.residuals);
}

}  // namespace bp
