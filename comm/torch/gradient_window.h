// The window of a DistributedOptimizer (docs/design.md, 4): it takes the weighted gradients of
// several micro-batches, reduces their sum over all ranks, and divides that by the sum of the
// weights. A state machine: accumulating, reducing, reduced, and accumulating again.
//
// Threads: one at a time.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bp/torch/distributed_optimizer.h"
#include "comm/torch/failure_latch.h"
#include "comm/torch/gradient_hooks.h"
#include "comm/torch/gradients.h"
#include "comm/torch/loss_scale.h"
#include "comm/torch/parameter_set.h"
#include "comm/torch/step_agreement.h"

namespace bp {

// The optimizer's row of the trace. It is not one of the communicator's, so that its spans are
// drawn above the buckets that they hide.
inline constexpr std::string_view kTraceRow = "compute";

class GradientWindow {
 public:
  using Result = DistributedOptimizer::Window;
  using State = DistributedOptimizer::State;
  using Pass = DistributedOptimizer::Pass;
  using Passes = DistributedOptimizer::Passes;
  using Clock = std::chrono::steady_clock;

  // All must outlive this object. `options` are checked. The ranks of `comm` reduce the gradients;
  // those of `world` agree on the nominal weight. `owners`: the ranks that divide the gradients,
  // connected before the first reduction; null: none do.
  GradientWindow(Communicator& world,
                 Communicator& comm,
                 const ParameterSet& parameters,
                 const DistributedOptimizerOptions& options,
                 Owners* owners,
                 FailureLatch& latch,
                 StepAgreement& agreement);

  // As the functions of DistributedOptimizer.
  void begin(int micro_batches);
  void announce_rows(const std::string& parameter, std::span<const std::int64_t> rows) {
    latch_.require_usable();
    require_empty("announce_rows");
    latch_.run([&] { gradients_.announce_rows(parameter, rows); });
  }
  void backward(const at::Tensor& loss, double weight, bool retain_graph);
  Passes accumulate(std::int64_t rows, const Pass& pass, std::int64_t most);
  void reduce();
  double clip_grad_norm(double max_norm);
  [[nodiscard]] Result result() const;
  void request_stop() { stop_requested_ = true; }
  [[nodiscard]] double nominal_weight() const { return nominal_weight_; }
  [[nodiscard]] double loss_scale() const { return loss_scale_.value(); }
  [[nodiscard]] State state() const;
  void load_state(const State& state);
  // Gives all ranks of the world root's nominal weight and loss scale, which a rank that has joined
  // lacks.
  void broadcast_scales(int root);

  // Runs `wait`, whose time does not count for Result::seconds.
  template <class Wait>
  void run_uncounted(const Wait& wait) {
    const auto begin = Clock::now();
    wait();
    began_ += Clock::now() - begin;
  }

  // After reduce(): the window has a weight, and did not overflow.
  [[nodiscard]] bool can_step() const { return result_->weight > 0 && !result_->overflow; }
  // After reduce(): no rank has joined, so any collective is possible.
  [[nodiscard]] bool is_from_all_ranks() const { return from_all_ranks_; }
  // Whether a window can overflow with these options.
  [[nodiscard]] bool can_overflow() const { return can_overflow_; }
  // After reduce(): the ranks tell each other what end() needs. Collective. So a communicator that
  // fails does so before the wrapped optimizer's step.
  void prepare_end();
  // Empties a window that is reduced. Without one it does nothing.
  void end();
  // Throws invalid_argument, naming `call`, unless the window is empty.
  void require_empty(const char* call) const;
  // Throws invalid_argument if a parameter has another type, shape or device than at construction.
  void require_same_forms() const { forms_.require_unchanged(); }

  [[nodiscard]] const Gradients& gradients() const { return gradients_; }

 private:
  enum class Phase : std::uint8_t { accumulating, reducing, reduced };

  // Some rows of the micro-batch that accumulate() computes.
  struct Piece {
    std::int64_t first = 0;
    std::int64_t count = 0;
    std::vector<std::size_t> given = {};  // see Gradients::begin_pass()
    bool is_last = false;
    bool in_pass = false;  // of autograd
    bool is_done = false;
  };

  bool takes_late(std::size_t i, const at::Tensor& gradient);
  void require_untouched() const;
  void require_backward_makes_sense(const at::Tensor& loss, double weight) const;
  void agree_on_nominal_weight(double first_weight);
  [[nodiscard]] double factor_of(const at::Tensor& loss, double weight) const;
  void prepare_loss(const at::Tensor& loss);
  void add_loss(const at::Tensor& loss, double weight);
  void run_piece(Piece& piece, const Pass& pass);
  [[nodiscard]] bool may_repeat(const Piece& piece, const std::exception& error) const;
  void run_backward(const at::Tensor& loss, double factor, bool retain_graph);
  void start_rest(bool is_from_backward);
  void finish_reduction();
  void warn_of_missing();
  void scale_gradients(double coefficient);

  Communicator& world_;
  Communicator& comm_;
  const ParameterSet& parameters_;
  const int micro_batches_;
  FailureLatch& latch_;
  StepAgreement& agreement_;
  ParameterForms forms_;
  Gradients gradients_;
  LossScale loss_scale_;
  GradientHooks hooks_;
  bool can_overflow_;
  const bool runs_fillers_;  // backward passes of weight 0
  const bool reduces_each_;  // micro-batch
  const bool repeats_;       // passes, since other ranks do not wait for these in them
  const bool keeps_order_;   // of buckets, which decides what each rank owns, and how i8 rounds

  Phase phase_ = Phase::accumulating;
  int expected_;       // backward() of this window
  int backwards_ = 0;  // so far
  Clock::time_point began_ = Clock::now();
  OwnTotals mine_;                       // of this window, on this rank
  std::vector<std::size_t> next_order_;  // of buckets; empty: no change
  double nominal_weight_;
  double pending_scale_ = 1;  // the factor that reduced gradients have yet to be multiplied by
  std::optional<Result> result_;
  bool from_all_ranks_ = true;
  bool stop_requested_ = false;
  bool in_backward_ = false;
  bool in_arrival_ = false;  // of a gradient; stays so if it fails
  Piece* piece_ = nullptr;   // null outside of accumulate()
  bool is_filler_ = false;   // this backward pass, whose gradients do not count
  bool has_warned_ = false;
};

}  // namespace bp
