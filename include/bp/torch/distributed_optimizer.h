// Delayed all-reduce for LibTorch: wraps any torch::optim::Optimizer so that gradients of several
// micro-batches on several ranks become one exact weighted mean.
//
//   bp::DistributedOptimizer opt(world, model->named_parameters().pairs(),
//                                std::make_unique<torch::optim::AdamW>(...), {.micro_batches = 4});
//   opt.broadcast_parameters();
//   for (auto& [x, y] : micro_batches) opt.backward(loss(x, y), /*weight=*/y.numel());
//   double norm = opt.clip_grad_norm(1.0);
//   opt.step();
//
// A *window* is what lies between two steps: up to `micro_batches` calls of backward on each rank.
// The gradient that the wrapped optimizer sees is
//     sum over ranks and micro-batches of w * g   /   sum over ranks and micro-batches of w
// whatever the layout, so partial windows, ranks without data (weight 0) and uneven hosts are exact
// and 1 rank x 32 samples equals 4 ranks x 8. The loss given to backward() is the mean over the
// micro-batch, its weight the number of samples (or tokens) in that mean.
//
// Gradients are fused into buckets, at first in reverse order of registration, after the first
// window in the order in which rank 0's gradients came; a bucket's all-reduce starts as soon as its
// last gradient of the window's last micro-batch is there, while backward goes on. Weight, loss and
// stop flag ride in the last bucket: a window costs exactly bucket_count() collectives.
//
// Parameters stay equal on all ranks bit for bit, with a narrow `wire` too.
//
// With loss scaling, or where f16 is on the wire, an infinity or a NaN in any rank's gradient skips
// the step on all ranks.
//
// A parameter that got no gradient in a window counts as zero, as it does on a rank that did not
// use it (a warning names such parameters once); one that is frozen (requires_grad_(false), on all
// ranks alike, between windows) is left alone. Between a window's first backward() and step(),
// gradients are the optimizer's: zero_grad() is an error.
//
// States: ACCUMULATING --(last backward)--> REDUCING --reduce()--> REDUCED --step()-->
// ACCUMULATING. clip_grad_norm() and step() reduce first where that has not happened; a call that
// makes no sense in its state throws invalid_argument saying which call is missing.
//
// Threads: used by one thread. No collective may be started on the communicator by others while a
// window is REDUCING. Errors: those of all_reduce; after one the optimizer is unusable.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bp/communicator.h"
#include "bp/export.h"
#include "bp/types.h"

namespace torch::optim {
class Optimizer;
}

namespace BP_API bp {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

// The loss is multiplied by a factor before backward and the gradient divided by it afterwards, so
// that small gradients do not vanish in f16. The factor falls with each window that overflows and
// rises after `interval` windows without.
struct LossScaling {
  double initial = 0;  // 0: none; 65536 is usual. A power of two changes no bits.
  double growth = 2;
  double backoff = 0.5;
  int interval = 2000;
};

struct DistributedOptimizerOptions {
  int micro_batches = 1;                     // N, the window's nominal length
  std::size_t first_bucket_bytes = 1 << 20;  // small, so that the first collective starts early
  std::size_t bucket_bytes = 4 << 20;
  // Weights are divided by this before they multiply a gradient, to keep sums in range: the weight
  // of a usual window over all ranks. Must be the same on all ranks. 0: rank 0's first weight times
  // micro_batches times the world size, for which each rank's first backward() or reduce() waits.
  // A resumed run has that of its first one: see State.
  double nominal_weight = 0;
  // The type in which f32 gradients travel: f32, f16 or bf16. They are rounded to nearest even, two
  // are added in f32 and their sum is rounded again.
  DataType wire = DataType::f32;
  // With a narrow wire: what rounding took from this rank's gradient in one window is added to that
  // of the next, so that over many windows nothing is lost. One more f32 for each parameter.
  bool error_feedback = false;
  LossScaling loss_scaling = {};
  // Names of parameters whose gradients are sparse, as those of at::embedding with sparse = true.
  // Such a gradient is in no bucket: ranks exchange the rows that they have, or the whole where
  // that is less, and the wrapped optimizer sees a sparse gradient. Costs a window one more
  // collective, and two for each of these parameters. They travel in their own type, after all
  // buckets.
  std::vector<std::string> sparse_gradients = {};
  // Tensors that forward passes change and that are no parameters, such as the running mean of a
  // BatchNorm: model->named_buffers().pairs(). All ranks get those of rank 0 at the end of each
  // step(), by one more collective. Without this option each rank keeps its own.
  NamedTensors buffers = {};
};

class DistributedOptimizer {
 public:
  // Registers the parameters that require a gradient, empties their gradients and compares names,
  // shapes, types and options over all ranks (mismatch, naming the first difference). All that
  // `optimizer` holds must be among them (invalid_argument). `comm` must outlive the optimizer.
  // With `from_rank_0` it also calls broadcast_parameters().
  enum class Start : std::uint8_t { as_it_is, from_rank_0 };
  DistributedOptimizer(Communicator& comm,
                       const NamedTensors& parameters,
                       std::unique_ptr<torch::optim::Optimizer> optimizer,
                       const DistributedOptimizerOptions& options = {},
                       Start start = Start::as_it_is);
  // Empties the gradients: they lie in the communicator's memory.
  ~DistributedOptimizer();
  DistributedOptimizer(const DistributedOptimizer&) = delete;
  DistributedOptimizer& operator=(const DistributedOptimizer&) = delete;

  // Root's parameters (frozen ones too), options.buffers and optimizer state with all options,
  // learning rates among them, everywhere, bit for bit. Between windows only.
  void broadcast_parameters(int root = 0);

  // Runs backward from `loss`, a scalar that is the mean over the micro-batch, and adds the
  // gradient times `weight` to the window. Only this optimizer's parameters get a gradient: a loss
  // may run through those of another optimizer, which stay as they are, and through other leaves,
  // which get none. Weight 0 (filler) runs no backward. `retain_graph` keeps the graph for another
  // backward. Throws invalid_argument if the window already has its micro_batches.
  void backward(const at::Tensor& loss, double weight, bool retain_graph = false);
  // Does nothing: gradients are empty between windows. For loops that were written for a plain
  // optimizer. Throws invalid_argument inside a window.
  void zero_grad();

  // Waits for what is in flight and starts what is not, then divides by the sum of weights.
  void reduce();
  // The 2-norm of the reduced gradient, the same bits on all ranks; scales it down to max_norm. A
  // norm that is not finite is returned as it is, and nothing is scaled.
  double clip_grad_norm(double max_norm);
  // The wrapped optimizer's step on the reduced gradient, then an empty window. Skipped, with
  // false, when no rank had any weight or the window overflowed.
  bool step();
  // The step of an optimizer that evaluates the loss itself, such as LBFGS. `closure` evaluates it
  // once: it computes this rank's losses and calls backward(loss, weight) for each, as in a window.
  // All ranks call step(closure) between windows. Rank 0's optimizer decides how often the closure
  // runs, equally often on all ranks, and sees the mean loss and gradient of all ranks. The
  // parameters are those of rank 0 before each run and afterwards; window() is that of the last.
  // Only rank 0's optimizer has state from then on, until broadcast_parameters().
  // Throws invalid_argument if no rank had any weight, or for options with which a window may
  // overflow. Returns true. After an error, of the closure too, the optimizer is unusable.
  bool step(const std::function<void()>& closure);

  // From reduce() to the next window's first backward(): the weighted mean loss, the sum of weights
  // and whether any rank asked to stop, over all ranks and micro-batches of the window.
  struct Window {
    double loss = 0;
    double weight = 0;
    bool stop = false;
    bool overflow = false;  // some rank's gradient was not finite; see LossScaling
  };
  [[nodiscard]] Window window() const;
  // Rides with the next window; see Window::stop.
  void request_stop();

  // What decides later steps besides parameters and the wrapped optimizer's state. Put back before
  // the first window of a resumed run, the run goes on bit for bit. Between windows only. Residuals
  // are each rank's own; all else is the same on all ranks, which load_state() compares (mismatch).
  struct State {
    double nominal_weight = 0;
    double loss_scale = 1;
    std::int64_t good_windows = 0;                // since the loss scale last changed
    std::vector<std::int64_t> bucket_order = {};  // of parameters' indices; empty: not agreed yet
    NamedTensors residuals = {};                  // of error feedback, by parameter
  };
  [[nodiscard]] State state() const;
  // Throws invalid_argument for what does not fit; residuals that are missing are zero.
  void load_state(const State& state);

  // What weights are divided by; 0 until that is known.
  [[nodiscard]] double nominal_weight() const;
  // 0 with one rank, which has nothing to reduce.
  [[nodiscard]] std::size_t bucket_count() const;
  // Collectives started since construction, broadcasts not counted.
  [[nodiscard]] std::uint64_t collectives() const;
  [[nodiscard]] torch::optim::Optimizer& optimizer();

 private:
  class BP_HIDDEN Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace bp
