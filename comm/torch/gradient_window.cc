#include "comm/torch/gradient_window.h"

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
                     .wire = options.sync.is_each_step() ? options.wire : DataType::f32},
          .error_feedback = options.error_feedback,
          .check_finite = options.loss_scaling.initial > 0 || options.wire == DataType::f16 ||
                          options.error_feedback,
          .owners = owners,
          .frees = frees_gradients(options.shard),
          .adds_up = options.reduce_each,
          .waits = options.layers.empty()};
}

}  // namespace

GradientWindow::GradientWindow(Communicator& world,
                               Communicator& comm,
                               const ParameterSet& parameters,
                               const DistributedOptimizerOptions& options,
                               Owners* owners,
                               FailureLatch& latch,
                               StepAgreement& agreement)
    : world_(world),
      comm_(comm),
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
              .arrived =
                  [this](std::size_t i) {
                    in_arrival_ = true;
                    gradients_.arrived(i);
                    in_arrival_ = false;
                  }}),
      can_overflow_(gradients_options(options).check_finite),
      runs_fillers_(!options.layers.empty()),
      reduces_each_(options.reduce_each && comm.size() > 1),
      repeats_(options.layers.empty() || options.shard != Shard::parameters),
      keeps_order_(options.wire == DataType::i8 ||
                   (owners != nullptr && owners->are_on_several_hosts())),
      expected_(options.micro_batches),
      nominal_weight_(options.nominal_weight) {}

void GradientWindow::begin(int micro_batches) {
  require_empty("begin_window");
  if (micro_batches < 1) refuse("begin_window(", micro_batches, "): a window has a micro-batch");
  expected_ = micro_batches;
  began_ = Clock::now();
}

void GradientWindow::require_empty(const char* call) const {
  if (phase_ != Phase::accumulating || backwards_ > 0 || piece_ != nullptr) {
    refuse(call, " in the middle of a window: call step() first");
  }
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

// The first collective of the optimizer's life. The ranks may make it in different calls. A sum, so
// that ranks may have joined: rank 0's number, and the one that counts if rank 0 has none.
void GradientWindow::agree_on_nominal_weight(double first_weight) {
  if (nominal_weight_ > 0) {
    return;
  }
  const double all_alike = first_weight * micro_batches_ * world_.size();
  std::array<double, 2> sums = {world_.rank() == 0 ? all_alike : 0, first_weight * micro_batches_};
  if (world_.size() > 1) {
    all_reduce(world_, view(sums), {.name = "nominal weight"});
  }
  nominal_weight_ = sums[0] > 0 ? sums[0] : sums[1] > 0 ? sums[1] : 1;
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
  if (piece_ != nullptr) refuse("reduce() inside accumulate()");
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
               .split = all.split,
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
  const bool is_agreed = comm_.size() == 1 || keeps_order_ || !gradients_.order().empty();
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

void GradientWindow::load_state(const State& state) {
  nominal_weight_ = state.nominal_weight;
  loss_scale_.restore(state.loss_scale, state.good_windows);
  if (!keeps_order_ && !state.bucket_order.empty()) {
    gradients_.rearrange({state.bucket_order.begin(), state.bucket_order.end()});
  }
  gradients_.load_residuals(state.residuals);
}

void GradientWindow::broadcast_scales(int root) {
  std::array<double, 3> scales = {nominal_weight_, loss_scale_.value(),
                                  static_cast<double>(loss_scale_.good_windows())};
  broadcast(world_, view(scales), {.root = root, .name = "scales"});
  gradients_.scale_residuals(scales[1] / loss_scale_.value());
  nominal_weight_ = scales[0];
  loss_scale_.restore(scales[1], static_cast<std::int64_t>(scales[2]));
}

}  // namespace bp
