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
// A *window* is the time between two steps: up to `micro_batches` calls of backward() on each rank.
// The gradient that the wrapped optimizer sees is
//     sum over ranks and micro-batches of w * g   /   sum over ranks and micro-batches of w
// for any layout. So partial windows, ranks without data (weight 0) and uneven hosts are exact, and
// 1 rank with 32 samples equals 4 ranks with 8. The loss that backward() gets is the mean over the
// micro-batch, and its weight the number of samples (or tokens) in that mean.
//
// Gradients are fused into buckets: in reverse order of registration at first, and after the first
// window in the order in which rank 0's gradients arrived. (Where the ranks of several hosts divide
// the state, in the first order always.) The all-reduce of a bucket starts when its last gradient
// of the window's last micro-batch has arrived, while backward continues. Weight, loss and stop
// flag travel in the last bucket, so a window costs exactly bucket_count() collectives. Only
// sparse_gradients, buffers, clip_grad_norm() on a device and the first window, in which the ranks
// agree on the order, cost more. So does a window in which a parameter gets more gradients in one
// backward pass than ever before (from backward passes inside it, as of a checkpoint): one
// collective for each such parameter, and one.
//
// All ranks' parameters stay equal bit for bit, also with a narrow `wire`, if all ranks begin with
// the same ones, and the program changes parameters, reduced gradients and the wrapped optimizer's
// options and state only alike on all ranks. (A rank may write a parameter and put the old values
// back.) A difference is a `mismatch` of the reduce() or step() of the next window that all ranks
// or none have filled, and names the option or the parameter. (On a device it is found for options
// and for parameters that the program has written. On the CPU it is not found if it spares the last
// element of every parameter and was made behind LibTorch's back. Of the options of an optimizer
// that is not LibTorch's own, only the learning rate is compared.)
//
// Devices: all parameters must lie on the CPU, or all on one device of LibTorch, such as cuda:0. A
// mix throws invalid_argument. The kind of device must be the same on all ranks, because a CPU and
// a GPU compute steps that differ in their last bits; the constructor throws a `mismatch` that
// names the kind. For the same reason all GPUs should be of one model. On a device, the gradients
// and their sums stay there, every operation follows LibTorch's current stream, and a backward pass
// must use one stream. backward() does not wait for the device. reduce() does, and computes the
// norm of the gradient with the same wait, for clip_grad_norm() and the search for infinities. If
// the program changes the gradient in between, clip_grad_norm() computes its norm again.
//
// With loss scaling, or with f16 on the wire, an infinity or a NaN in any rank's gradient skips the
// step on all ranks.
//
// A parameter for which no rank has a gradient in a window has none in step(), which leaves it as
// it is; a warning names such parameters once. A rank without a gradient of which others have one
// counts as zero. A parameter that is frozen (requires_grad_(false) on all ranks, between windows)
// stays unchanged. Type, shape and device of a parameter must stay as they were at construction.
// Between a window's first backward() and its step(), the gradients belong to the optimizer:
// zero_grad() throws.
//
// States: ACCUMULATING --(last backward)--> REDUCING --reduce()--> REDUCED --step()-->
// ACCUMULATING. clip_grad_norm() and step() reduce first if that has not happened. A call that
// makes no sense in the present state throws invalid_argument, which names the missing call.
//
// Threads: only one thread may use it. Nothing else may start a collective on the communicator
// while a window is REDUCING. Errors: those of all_reduce, after which the optimizer is unusable.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bp/activity.h"
#include "bp/communicator.h"
#include "bp/export.h"
#include "bp/torch/shard.h"
#include "bp/torch/sync.h"
#include "bp/types.h"

namespace torch::optim {
class Optimizer;
}

namespace BP_API bp {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

// Consecutive rows of a micro-batch.
struct RowRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

// Loss scaling multiplies the loss by a factor before backward and divides the gradient by it
// afterwards, so that small gradients do not vanish in f16. Each window that overflows multiplies
// the factor by `backoff`, and `interval` windows without an overflow multiply it by `growth`.
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
  // The weight of a usual window over all ranks. Weights are divided by it before they multiply a
  // gradient, which keeps the sums in range. Must be the same on all ranks. 0: rank 0's first
  // weight times micro_batches times the world size, for which each rank's first backward() or
  // reduce() waits. (If rank 0 has none, the sum of all ranks' first weights, times micro_batches.)
  // A resumed run keeps the value of its first one: see State.
  double nominal_weight = 0;
  // The type in which f32 gradients travel: f32, f16, bf16 or i8. As f16 and bf16 they are rounded
  // to nearest even, added in f32, and each sum is rounded again. i8 is all_reduce_int8(), for
  // parameters on the CPU: only what hosts send each other is rounded, with error_feedback, and
  // with one host it is f32.
  DataType wire = DataType::f32;
  // With a narrow wire: adds what rounding took from this rank's gradient in one window to its
  // gradient of the next one, so that nothing is lost over many windows. Costs one more f32 for
  // each parameter, with i8 two, and skips windows that overflow, as with loss scaling.
  bool error_feedback = false;
  LossScaling loss_scaling = {};
  // Names of parameters with sparse gradients, such as those of at::embedding with sparse = true.
  // Such a gradient is in no bucket: the ranks exchange the rows that they have, or the whole
  // gradient if that is shorter, and the wrapped optimizer sees a sparse gradient. This costs one
  // more collective for each window, and two for each of these parameters. They travel in their own
  // type, after all buckets. Parameters on a device cannot be named here.
  std::vector<std::string> sparse_gradients = {};
  // Tensors that are not parameters and that forward passes change, such as the running mean of a
  // BatchNorm: model->named_buffers().pairs(). They may lie on any device. At the end of each
  // step() all ranks get those of rank 0, by one more collective for each 4 MiB of them, unless a
  // rank has joined (join()). Without this option each rank keeps its own.
  NamedTensors buffers = {};
  Shard shard = Shard::none;
  // How much each rank owns of what they divide, in proportion to its number here, 0 for nothing;
  // the same on all ranks. Empty: as much as the others. A host's ranks may not all have 0 with
  // Shard::host.
  std::vector<double> shard_shares = {};
  // The names of the parameters of each layer, in the order of a forward pass; each parameter in
  // one layer at most. Then the hosts exchange a layer's parameters while the pass computes the
  // layer before it: call enter_layer(). What stays whole on each host, such as word embeddings, is
  // not named here. Empty: the hosts exchange all parameters at the end of step(). Without effect
  // where the ranks of several hosts divide nothing.
  std::vector<std::vector<std::string>> layers = {};
  // With Shard::gradients or parameters: the ranks sum the gradients of each micro-batch at once
  // and keep the sums of their own parts, so that a window of several micro-batches takes no more
  // memory than one of a single one. It sends them as often, and adds in another order, so the last
  // bits are others. Needs a wire of f32, and all ranks make as many micro-batches.
  bool reduce_each = false;
  Sync sync = {};
};

class DistributedOptimizer {
 public:
  // Registers the parameters that require a gradient and empties their gradients. With
  // `from_rank_0` it also calls broadcast_parameters(). Collective: the ranks compare names,
  // shapes, types and options, and throw a `mismatch` that names the first difference. Throws
  // invalid_argument if `optimizer` holds a tensor that is not among `parameters`. `comm` must
  // outlive the optimizer.
  enum class Start : std::uint8_t { as_it_is, from_rank_0 };
  DistributedOptimizer(Communicator& comm,
                       const NamedTensors& parameters,
                       std::unique_ptr<torch::optim::Optimizer> optimizer,
                       const DistributedOptimizerOptions& options = {},
                       Start start = Start::as_it_is);
  // Empties the gradients, which lie in the communicator's memory.
  ~DistributedOptimizer();
  DistributedOptimizer(const DistributedOptimizer&) = delete;
  DistributedOptimizer& operator=(const DistributedOptimizer&) = delete;

  // Copies root's parameters (frozen ones too), options.buffers, the wrapped optimizer's state and
  // options, such as learning rates, the nominal weight and the loss scale to all ranks, bit for
  // bit. Collective; between windows only.
  void broadcast_parameters(int root = 0);

  // Begins a window in which this rank calls backward() this often instead of options.micro_batches
  // times. The ranks' numbers may differ, but with options.layers or reduce_each. Between windows
  // only. Without this call a window begins with the first backward().
  void begin_window(int micro_batches);
  // For a parameter that sparse_gradients names: in this window its gradient has no rows on this
  // rank but these, in any order, of all micro-batches together. Their numbers then travel while
  // the ranks compute, in one collective beside the passes, and only the rows themselves wait for
  // the gradient. Without it two collectives for numbers follow all buckets. Each rank sends a bit
  // for each row that the parameter has. Collective, before the window's first backward(): in a
  // window all ranks call it for all such parameters, in the same order, a rank without data with
  // no rows, or none does. reduce() throws invalid_argument if the gradient has another row.
  void announce_rows(const std::string& parameter, std::span<const std::int64_t> rows);
  // Runs backward from `loss`, a scalar that is the mean over the micro-batch, and adds the
  // gradient times `weight` to the window. Functions in the graph may run a backward pass
  // themselves. The loss may also depend on parameters of another DistributedOptimizer, whose
  // gradients stay unchanged, and on other leaves, which get the gradient of the loss times
  // weight / nominal_weight() * loss_scale(). Weight 0 (filler) runs no backward, but for
  // enter_layer(). `retain_graph` keeps the graph for another backward. Throws invalid_argument if
  // the window already has its micro_batches, if that factor is outside the range of the loss's
  // type, and if a parameter has changed its type, shape or device.
  void backward(const at::Tensor& loss, double weight, bool retain_graph = false);
  // Computes a micro-batch for which there may be too little memory:
  //
  //   opt.accumulate(x.size(0), [&](bp::RowRange rows) {
  //     const auto part = x.narrow(0, rows.first, rows.count);
  //     opt.backward(loss(part), /*weight=*/rows.count);
  //   });
  //
  // `pass` computes the loss of these of the micro-batch's `rows` rows and calls backward() once,
  // as its last act. Begins with all rows, or with pieces of at most `most` rows each (0: any
  // number). A piece for which memory runs out, in a forward or a backward pass, is computed again
  // in two halves; the gradients that the backward pass has already added stay and count once. So
  // the window is what one backward() of the whole micro-batch makes, but for rounding, if the sum
  // of the pieces' weights times mean losses is the whole's: what `pass` draws at random must
  // depend on the row. Leaves that are in no DistributedOptimizer may get a part of their gradient
  // twice. Other ranks only wait longer. Returns how many passes it made. Throws what `pass`
  // throws, if that is not want of memory, or a single row has too little; with options.layers and
  // Shard::parameters, whose ranks make passes together, also for several rows. If a part of the
  // micro-batch is then in the window, the optimizer is unusable.
  using Pass = std::function<void(RowRange rows)>;
  struct Passes {
    std::int64_t made = 0;
    std::int64_t refused = 0;  // those for which memory ran out, which do not count as made
  };
  Passes accumulate(std::int64_t rows, const Pass& pass, std::int64_t most = 0);
  // With options.layers: call it before a pass reads the parameters of a layer, in forward and in
  // backward passes. For the latter, from a hook of the layer's output:
  //
  //   optimizer.enter_layer(i);
  //   x = layers[i]->forward(x);
  //   x.register_hook([&, i](const at::Tensor&) { optimizer.enter_layer(i); });
  //
  // Collective: all ranks enter the same layers in the same order. So a rank without data makes a
  // pass, too, over any rows, and gives its loss to backward() with weight 0, which then runs and
  // drops the gradients. With Shard::parameters the layer is whole until the next call for another
  // one.
  void enter_layer(std::size_t layer);
  // With options.layers: makes all parameters whole on all hosts, until the next step(). For what
  // reads them outside of passes, such as saving; before the destructor if you want them after it.
  // Collective.
  void gather_parameters();
  // Does nothing, since gradients are empty between windows: for loops that were written for a
  // plain optimizer. Throws invalid_argument inside a window.
  void zero_grad();

  // Ends the window: starts the buckets that have not started, waits for all of them and divides by
  // the sum of the weights. Collective.
  void reduce();
  // Scales the reduced gradient down to a 2-norm of at most `max_norm`. Returns the norm that it
  // had, with the same bits on all ranks. If that is not finite, nothing is scaled. With parameters
  // on a device, and where ranks divide the gradient (Shard), it is a collective.
  double clip_grad_norm(double max_norm);
  // Reduces the gradient unless that has been done, runs the wrapped optimizer's step() and empties
  // the window. Returns false, without running that step, if the weights of all ranks sum to 0 or
  // the window overflowed; the window is emptied all the same. Blocks until the reduction is
  // complete. If it throws because of another rank or of the communicator, the wrapped optimizer
  // has not stepped on this rank; it may have on another one.
  bool step();
  // Runs the step of an optimizer that evaluates the loss itself, such as LBFGS. `closure`
  // evaluates it once: it computes this rank's losses and calls backward(loss, weight) for each, as
  // in a window. Collective: all ranks must call it between windows. Rank 0's optimizer sees the
  // mean loss and gradient of all ranks, and decides how often the closure runs, which is the same
  // on all ranks. All ranks have rank 0's parameters before each run and afterwards. window() is
  // that of the last run. From then on only rank 0's optimizer has state, until
  // broadcast_parameters(). Returns true. Throws invalid_argument if no rank had any weight, or for
  // options with which a window may overflow. After an error, also of the closure, the optimizer is
  // unusable.
  bool step(const std::function<void()>& closure);

  // The weighted mean loss, the sum of the weights, and whether any rank asked to stop, over all
  // ranks and micro-batches of the window. Weights and losses are added as doubles, in the order of
  // ranks. Valid from reduce() to the next window's first backward().
  struct Window {
    double loss = 0;
    double weight = 0;
    // What each rank needed from the beginning of the window (begin_window(), else the end of the
    // window before) to the end of its last backward pass, without waiting to enter layers; for
    // WorkShares. Without ranks that have joined.
    std::vector<double> seconds = {};
    bool stop = false;
    std::int64_t split = 0;  // micro-batches that accumulate() computed in pieces
    bool overflow = false;   // some rank's gradient was not finite; see LossScaling
  };
  [[nodiscard]] Window window() const;
  // Sets Window::stop of the next window on all ranks.
  void request_stop();

  // Whether hosts train for themselves between rounds (options.sync). Otherwise each step() counts
  // as a round, as also on one host whose rule changes nothing.
  [[nodiscard]] bool has_rounds() const;
  // Whether the next step() ends with a round, whether the last one did, and whether all ranks have
  // the same parameters.
  [[nodiscard]] bool ends_round() const;
  [[nodiscard]] bool ended_round() const;
  [[nodiscard]] bool is_common() const;
  // Makes a round of all parameters now: before an evaluation or what else needs common ones.
  // Before a round, also that of step(), an optimizer that defers updates must make them.
  // Collective; between windows only. Waits up to an hour for a slower host. Errors: as of step().
  void synchronise();
  // The loss, weight and `stop` of all ranks and windows that the last round ended.
  [[nodiscard]] Window round() const;
  // What rounds have cost between hosts, on the first rank of each; nothing on other ranks.
  [[nodiscard]] Counters round_counters() const;

  // Everything that decides later steps, beside the parameters and the wrapped optimizer's state. A
  // run that loads it before its first window resumes bit for bit. Between windows only. Residuals
  // are each rank's own. All else must be the same on all ranks; load_state() throws `mismatch`
  // otherwise.
  struct State {
    double nominal_weight = 0;
    double loss_scale = 1;
    std::int64_t good_windows = 0;                // since the loss scale last changed
    std::vector<std::int64_t> bucket_order = {};  // indices of parameters; empty: the first one
    NamedTensors residuals = {};                  // of error feedback, by parameter
    std::int64_t steps_of_round = 0;              // the present one, by Sync::interval
    // Of rounds, by parameter: on the first rank of each host. load_state() takes rank 0's.
    NamedTensors outer_momentum = {};
  };
  [[nodiscard]] State state() const;
  // Throws invalid_argument for a state that does not fit. Missing residuals count as zero.
  void load_state(const State& state);

  // Returns the number that weights are divided by, 0 until it is known.
  [[nodiscard]] double nominal_weight() const;
  // Returns the factor on the losses of this window, 1 without loss scaling. step() changes it.
  [[nodiscard]] double loss_scale() const;
  // Returns 0 in a world of one rank, which reduces nothing.
  [[nodiscard]] std::size_t bucket_count() const;
  // Returns the number of collectives started since construction, without broadcasts.
  [[nodiscard]] std::uint64_t collectives() const;
  // Makes the wrapped optimizer's state whole on rank `root`, until the next step, where the ranks
  // of several hosts or on devices divide it (Shard). With rounds, all hosts get the mean of their
  // states, by the weights that they have trained on. Before the program saves it. Collective;
  // between windows only.
  void gather_state(int root = 0);
  // Some elements of a parameter, or of a tensor of its state.
  struct Piece {
    const std::string& name;      // the parameter's
    const at::Tensor& parameter;  // the whole one
    // Which of the tensors of its state (Elementwise::tensors_of()); none: the parameter itself.
    std::optional<std::size_t> moment;
    std::size_t offset = 0;  // of the first one, in the order of memory
    at::Tensor values;       // a vector, valid during the call; of a state some MiB at most
  };
  using VisitPiece = std::function<void(const Piece& piece)>;
  // Calls `visit` on rank 0 with one piece after another of the state that ranks have in parts, and
  // with each of the parameters that hosts have in parts; all else is whole there. So rank 0 can
  // save what its host has no room for. Meanwhile the other ranks wait for the next pieces, or for
  // the next layer. Collective; between windows only. If `visit` throws, rank 0 throws that, and
  // the optimizer is unusable.
  void stream_state(const VisitPiece& visit = [](const Piece& /*piece*/) {});
  // Returns what the ranks divide, never `automatic`.
  [[nodiscard]] Shard shard() const;
  // For options, state and saving. Its step() uses the gradient of this rank alone before reduce(),
  // which the next window reports as a mismatch.
  [[nodiscard]] torch::optim::Optimizer& optimizer();

 private:
  class BP_HIDDEN Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace bp
