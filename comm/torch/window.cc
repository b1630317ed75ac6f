// The life of a window: backward, the reduction, the step.
#include <ATen/core/Tensor.h>
#include <ATen/ops/full.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "bp/collective.h"
#include "bp/log.h"
#include "bp/trace.h"
#include "comm/torch/optimizer_impl.h"
#include "comm/torch/refuse.h"
#include "comm/torch/tensor_view.h"

namespace bp {
namespace {

// Beside the communicator's own: what is drawn there lies above the buckets that it hides.
constexpr std::string_view kTraceRow = "compute";

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

void DistributedOptimizer::Impl::require_backward_makes_sense(const at::Tensor& loss,
                                                              double weight) const {
  if (backwards_ == options_.micro_batches) {
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
  gradients_.require_untouched();
}

void DistributedOptimizer::Impl::backward(const at::Tensor& loss,
                                          double weight,
                                          bool retain_graph) {
  require_usable();
  require_backward_makes_sense(loss, weight);
  unusable_if_it_throws([&] {
    agree_on_nominal_weight(weight);
    ++backwards_;
    if (weight > 0) {
      mine_.weight += weight;
      mine_.weighted_loss += weight * loss.item<double>();
    }
    const bool is_last = backwards_ == options_.micro_batches;
    if (is_last && weight > 0) {
      close_window();
      gradients_.expect_last(mine_);
    }
    if (weight > 0) {
      run_backward(loss, weight, retain_graph);
    }
    if (is_last) {
      close_window();
      gradients_.start_rest(mine_);
    }
  });
}

// The first collective of the optimizer's life, for whichever call comes first on a rank.
void DistributedOptimizer::Impl::agree_on_nominal_weight(double first_weight) {
  if (nominal_weight_ > 0) {
    return;
  }
  double nominal = first_weight > 0 ? first_weight * options_.micro_batches * comm_.size() : 1;
  if (comm_.size() > 1) {
    std::span one(&nominal, 1);
    broadcast(comm_, view(one), {.name = "nominal weight"});
  }
  nominal_weight_ = nominal;
}

void DistributedOptimizer::Impl::run_backward(const at::Tensor& loss,
                                              double weight,
                                              bool retain_graph) {
  const TraceScope scope(comm_.trace(), kTraceRow, "backward");
  // Named, so that no other leaf of the graph gets a gradient: those of another optimizer are its
  // own.
  std::vector<at::Tensor> inputs;
  for (const auto& [name, tensor] : parameters_.trained) {
    if (tensor.requires_grad()) {
      inputs.push_back(tensor);
    }
  }
  if (inputs.empty()) {
    return;
  }
  in_backward_ = true;
  const double scale = weight / nominal_weight_ * loss_scale_.value();
  const at::Tensor gradient =
      scale == 1 ? at::Tensor() : at::full(loss.sizes(), scale, loss.options());
  loss.backward(gradient, retain_graph, /*create_graph=*/false, inputs);
  in_backward_ = false;
}

void DistributedOptimizer::Impl::close_window() {
  if (phase_ == Phase::accumulating) {
    phase_ = Phase::reducing;
    mine_.stops = std::exchange(stop_requested_, false) ? 1 : 0;
  }
}

// From any state to `reduced`, with the division still pending.
void DistributedOptimizer::Impl::finish_reduction() {
  require_usable();
  if (phase_ == Phase::reduced) {
    return;
  }
  if (phase_ == Phase::accumulating) {
    gradients_.require_untouched();
  }
  unusable_if_it_throws([&] {
    agree_on_nominal_weight(0);
    if (phase_ == Phase::accumulating) {
      close_window();
      gradients_.start_rest(mine_);
    }
    const Totals all = [&] {
      const TraceScope scope(comm_.trace(), kTraceRow, "wait for gradients");
      return gradients_.finish();
    }();
    const bool empty = all.weight <= 0;
    window_ = {.loss = empty ? 0 : all.weighted_loss / all.weight,
               .weight = all.weight,
               .stop = all.stops > 0,
               .overflow = !all.finite};
    pending_scale_ = empty ? 1 : nominal_weight_ / all.weight / loss_scale_.value();
    phase_ = Phase::reduced;
    warn_of_missing();
  });
}

void DistributedOptimizer::Impl::warn_of_missing() {
  if (warned_ || mine_.weight == 0) {
    return;
  }
  const auto missing = gradients_.missing();
  if (missing.empty()) {
    return;
  }
  warned_ = true;
  log(LogLevel::warn,
      concat("DistributedOptimizer: no gradient in this window for ", missing.size(), " of ",
             parameters_.trained.size(), " parameters (", enumerate(missing),
             "); it counts as zero. Freeze what the loss does not use. Said once."));
}

void DistributedOptimizer::Impl::scale_gradients(double coefficient) {
  const double factor = pending_scale_ * coefficient;
  pending_scale_ = 1;
  if (factor == 1) {
    return;
  }
  const at::NoGradGuard no_grad;
  for (at::Tensor& piece : gradients_.memory()) {
    piece.mul_(factor);
  }
}

void DistributedOptimizer::Impl::reduce() {
  finish_reduction();
  scale_gradients(1);
}

double DistributedOptimizer::Impl::clip_grad_norm(double max_norm) {
  if (!(max_norm > 0)) {
    refuse("clip_grad_norm to ", max_norm, ": the limit must be positive");
  }
  finish_reduction();
  double squares = 0;
  for (const at::Tensor& piece : gradients_.memory()) {
    squares += sum_of_squares(piece);
  }
  const double norm = std::sqrt(squares) * pending_scale_;
  const double coefficient = max_norm / (norm + 1e-6);  // as torch.nn.utils.clip_grad_norm_
  scale_gradients(std::isfinite(norm) ? std::min(coefficient, 1.0) : 1.0);
  return norm;
}

// Until rank 0 has seen a whole window, and so once in most lives.
void DistributedOptimizer::Impl::agree_on_bucket_order(std::vector<std::size_t> mine) {
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

// Empties a window that is reduced; otherwise there is none to end.
void DistributedOptimizer::Impl::end_window() {
  if (phase_ != Phase::reduced) {
    return;
  }
  std::vector<std::size_t> arrivals = gradients_.arrival_order();
  gradients_.clear();
  if (window_->weight > 0) {
    agree_on_bucket_order(std::move(arrivals));
    gradients_.scale_residuals(loss_scale_.update(window_->overflow));
  }
  phase_ = Phase::accumulating;
  backwards_ = 0;
  mine_ = {};
}

bool DistributedOptimizer::Impl::step() {
  require_usable();
  require_no_closure_needed();
  reduce();
  const bool steps = window_->weight > 0 && !window_->overflow;
  unusable_if_it_throws([&] {
    agree_on_members();
    if (steps) {
      const TraceScope scope(comm_.trace(), kTraceRow, "step");
      optimizer_->step();
    }
    end_window();
    share_buffers(0);
  });
  return steps;
}

DistributedOptimizer::Window DistributedOptimizer::Impl::window() const {
  const bool is_new = phase_ != Phase::reduced && (backwards_ > 0 || !window_);
  if (is_new) {
    refuse(
        "window() before the window is reduced: call reduce(), clip_grad_norm() or step() "
        "first");
  }
  return *window_;
}

}  // namespace bp
