// How a GradientWindow takes a micro-batch.
//
// There may be too little memory for it. A backward pass adds the gradients of its rows to one
// parameter after another. If it fails for want of memory, each parameter has the gradient of all
// its rows, or of none of them. So the gradients that have arrived stay, also in buckets that are
// on their way, and the passes over the halves give the others what they lack.
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>
#include <malloc.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>

#include <cmath>
#include <exception>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <c10/core/CachingDeviceAllocator.h>

#include "base/text.h"
#include "bp/error.h"
#include "bp/trace.h"
#include "comm/torch/gradient_hooks.h"
#include "comm/torch/gradient_window.h"
#include "comm/torch/memory_refusal.h"
#include "comm/torch/misuse.h"

namespace bp {
namespace {

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

// Goes through autograd's queue behind all other nodes.
struct LastNode : torch::autograd::Node {
  LastNode() : Node(/*sequence_nr=*/0) { add_input_metadata(at::ones({})); }
  torch::autograd::variable_list apply(torch::autograd::variable_list&&) override { return {}; }
};

// Autograd's queue of this thread still holds nodes of the pass that failed, and so its graph.
void empty_autograd_queue() {
  const torch::autograd::edge_list roots = {{std::make_shared<LastNode>(), 0}};
  torch::autograd::Engine::get_default_engine().execute(roots, {at::ones({})}, false, false, true);
}

void empty_caches(c10::Device device) {
  if (device.is_cpu()) {
    empty_autograd_queue();
    ::malloc_trim(0);
  } else if (auto* const allocator = c10::getDeviceAllocator(device.type())) {
    allocator->emptyCache();
  }
}

}  // namespace

void GradientWindow::require_backward_makes_sense(const at::Tensor& loss, double weight) const {
  if (piece_ != nullptr && piece_->is_done) {
    refuse("backward() twice in a pass of accumulate()");
  }
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
  if (gradients_.was_given(i)) return true;
  return is_filler_ ? gradients_.passes(i) : gradients_.takes_late(i, gradient);
}

void GradientWindow::backward(const at::Tensor& loss, double weight, bool retain_graph) {
  latch_.require_usable();
  require_backward_makes_sense(loss, weight);
  latch_.run([&] {
    agree_on_nominal_weight(weight);
    const bool ends = piece_ == nullptr || piece_->is_last;  // the micro-batch
    const bool is_last = ends && backwards_ + 1 == expected_;
    const bool adds_up = ends && !is_last && reduces_each_;
    if (adds_up) gradients_.expect_last();
    is_filler_ = weight == 0;
    if (!is_filler_ || (runs_fillers_ && loss.defined() && loss.requires_grad())) {
      const double factor = is_filler_ ? 1 : factor_of(loss, weight);
      if (!is_filler_) prepare_loss(loss);
      if (is_last) {
        phase_ = Phase::reducing;
        gradients_.expect_last();
      }
      run_backward(loss, factor, retain_graph);
      if (!is_filler_) add_loss(loss, weight);
    }
    if (ends) ++backwards_;
    if (piece_ != nullptr) {
      piece_->is_done = true;
      if (ends && piece_->first > 0) ++mine_.split;
    }
    if (is_last) {
      start_rest(/*is_from_backward=*/true);
    } else if (adds_up) {
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

// item() would make the host wait for the device in each micro-batch.
void GradientWindow::prepare_loss(const at::Tensor& loss) {
  const bool on_device = !loss.is_cpu() && loss.device() == parameters_.device();
  if (!on_device || mine_.loss_on_device.defined()) return;
  mine_.loss_on_device = at::zeros({}, loss.options().dtype(at::kDouble));
}

// After the backward pass, which may have to be repeated.
void GradientWindow::add_loss(const at::Tensor& loss, double weight) {
  mine_.weight += weight;
  if (loss.is_cpu() || loss.device() != parameters_.device()) {
    mine_.weighted_loss += weight * loss.item<double>();
  } else {
    mine_.loss_on_device.add_(loss.detach().reshape({}), weight);
  }
}

// Leaves of other optimizers get no gradient. Autograd need not even compute it, if every step of
// the graph is its own: it then runs only those that lead to the named inputs. A step with other
// code runs always, since it may fill leaves to which the graph does not lead.
void GradientWindow::run_backward(const at::Tensor& loss, double factor, bool retain_graph) {
  const TraceScope scope(comm_.trace(), kTraceRow, "backward");
  Piece outside;
  Piece& piece = piece_ != nullptr ? *piece_ : outside;
  piece.in_pass = true;
  gradients_.begin_pass(piece.given);
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
  piece.in_pass = false;
}

bool GradientWindow::may_repeat(const Piece& piece, const std::exception& error) const {
  const bool failed_outside = !latch_.is_usable() && (!piece.in_pass || in_arrival_);
  return repeats_ && piece.count > 1 && !piece.is_done && !failed_outside &&
         dynamic_cast<const Error*>(&error) == nullptr && may_mean_out_of_memory(error);
}

void GradientWindow::run_piece(Piece& piece, const Pass& pass) {
  const auto leave = [this](Piece* /*piece*/) { piece_ = nullptr; };
  const std::unique_ptr<Piece, decltype(leave)> scope(&piece, leave);
  piece_ = &piece;
  pass({.first = piece.first, .count = piece.count});
  if (!piece.is_done) refuse("accumulate() with a function that does not call backward()");
}

GradientWindow::Passes GradientWindow::accumulate(std::int64_t rows,
                                                  const Pass& pass,
                                                  std::int64_t most) {
  if (rows < 1 || most < 0) refuse("accumulate() of ", rows, " rows, at most ", most, " at once");
  if (piece_ != nullptr) refuse("accumulate() inside accumulate()");
  const std::int64_t parts = most == 0 || !repeats_ ? 1 : (rows + most - 1) / most;
  std::vector<Piece> rest;
  for (std::int64_t i = parts; i-- > 0;) {
    const std::int64_t first = rows * i / parts;
    rest.push_back({.first = first, .count = rows * (i + 1) / parts - first});
  }
  Passes passes;
  while (!rest.empty()) {
    Piece piece = std::move(rest.back());
    rest.pop_back();
    piece.is_last = rest.empty();
    try {
      run_piece(piece, pass);
      ++passes.made;
      continue;
    } catch (const std::exception& error) {
      const bool is_whole = piece.is_done && piece.is_last;
      const bool is_begun =
          !is_whole && (passes.made > 0 || piece.is_done || piece.in_pass || !piece.given.empty());
      if (!may_repeat(piece, error)) {
        if (is_begun && latch_.is_usable()) latch_.set(error.what());
        throw;
      }
    }
    ++passes.refused;
    if (piece.in_pass) {
      piece.given = gradients_.pass_failed();
      phase_ = Phase::accumulating;
      latch_.forgive();
    }
    empty_caches(parameters_.device());
    const std::int64_t half = piece.count / 2;
    rest.push_back({piece.first + half, piece.count - half, piece.given});
    rest.push_back({piece.first, half, std::move(piece.given)});
  }
  return passes;
}

}  // namespace bp
