#include "bp/torch/distributed_optimizer.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <torch/optim/optimizer.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <span>
#include <typeinfo>
#include <utility>

#include <c10/util/Type.h>

#include "bp/collective.h"
#include "bp/error.h"
#include "bp/log.h"
#include "comm/base/text.h"
#include "comm/torch/agreement.h"
#include "comm/torch/gradient_hooks.h"
#include "comm/torch/gradient_math.h"
#include "comm/torch/gradients.h"
#include "comm/torch/parameters.h"
#include "comm/torch/state_broadcast.h"

namespace bp {
namespace {

template <class... Parts>
[[noreturn]] void refuse(const Parts&... why) {
  throw Error(ErrorCode::invalid_argument, concat("DistributedOptimizer: ", why...));
}

DistributedOptimizerOptions checked(const DistributedOptimizerOptions& options) {
  if (options.micro_batches < 1) {
    refuse("micro_batches is ", options.micro_batches, ", but a window has at least one");
  }
  if (!std::isfinite(options.nominal_weight) || options.nominal_weight < 0) {
    refuse("nominal_weight is ", options.nominal_weight,
           ", but must be positive, or 0 for the default");
  }
  return options;
}

// Everything in which ranks must be equal for their buckets to fit together.
void require_agreement(Communicator& comm,
                       const ParameterSet& parameters,
                       const torch::optim::Optimizer& optimizer,
                       const DistributedOptimizerOptions& options) {
  std::vector<std::string> lines = {
      concat("optimizer ", c10::demangle(typeid(optimizer).name())),
      concat("first_bucket_bytes ", options.first_bucket_bytes),
      concat("bucket_bytes ", options.bucket_bytes),
      concat("nominal_weight ", options.nominal_weight),
  };
  std::ranges::copy(describe(parameters), std::back_inserter(lines));
  require_same_lines(comm, lines, "DistributedOptimizer");
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

class DistributedOptimizer::Impl {
 public:
  Impl(Communicator& comm,
       const NamedTensors& parameters,
       std::unique_ptr<torch::optim::Optimizer> optimizer,
       const DistributedOptimizerOptions& options);

  void broadcast_parameters(int root);
  void backward(const at::Tensor& loss, double weight);
  void reduce();
  double clip_grad_norm(double max_norm);
  bool step();
  Window window() const;

  void request_stop() { stop_requested_ = true; }
  double nominal_weight() const { return nominal_weight_; }
  const Gradients& gradients() const { return gradients_; }
  torch::optim::Optimizer& optimizer() { return *optimizer_; }

 private:
  enum class State : std::uint8_t { accumulating, reducing, reduced };

  template <class Action>
  void unusable_if_it_throws(Action action);
  void require_usable() const;
  void require_backward_makes_sense(const at::Tensor& loss, double weight) const;
  void agree_on_nominal_weight(double first_weight);
  void run_backward(const at::Tensor& loss, double weight);
  void close_window();
  void finish_reduction();
  void warn_of_missing();
  void scale_gradients(double coefficient);

  Communicator& comm_;
  DistributedOptimizerOptions options_;
  ParameterSet parameters_;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
  Gradients gradients_;
  GradientHooks hooks_;

  State state_ = State::accumulating;
  int backwards_ = 0;  // in this window
  Totals mine_;        // of this window
  double nominal_weight_;
  double pending_scale_ = 1;  // what reduced gradients are still to be multiplied by
  std::optional<Window> window_;
  bool stop_requested_ = false;
  bool in_backward_ = false;
  bool warned_ = false;
  std::string failure_;
};

DistributedOptimizer::Impl::Impl(Communicator& comm,
                                 const NamedTensors& parameters,
                                 std::unique_ptr<torch::optim::Optimizer> optimizer,
                                 const DistributedOptimizerOptions& options)
    : comm_(comm),
      options_(checked(options)),
      parameters_(sort_parameters(parameters)),
      optimizer_(std::move(optimizer)),
      gradients_(comm,
                 parameters_.trained,
                 {.first_bytes = options.first_bucket_bytes, .bytes = options.bucket_bytes}),
      hooks_(parameters_.trained,
             [this](std::size_t i) {
               if (!in_backward_) {
                 failure_ =
                     concat("parameter ", parameters_.trained[i].name,
                            " got a gradient outside of backward(): call backward(loss, weight) "
                            "instead of loss.backward(), and freeze with requires_grad_(false) "
                            "what another optimizer's loss runs through");
                 refuse(failure_);
               }
               gradients_.arrived(i);
             }),
      nominal_weight_(options.nominal_weight) {
  require_all_named(*optimizer_, parameters_);
  if (comm.size() > 1) {
    require_agreement(comm, parameters_, *optimizer_, options_);
  }
}

// An action that ends halfway leaves this rank's window, or the communicator, in a state from which
// nothing true can be computed.
template <class Action>
void DistributedOptimizer::Impl::unusable_if_it_throws(Action action) {
  const at::NoGradGuard no_grad;
  try {
    action();
  } catch (const std::exception& error) {
    failure_ = error.what();
    in_backward_ = false;
    throw;
  }
}

void DistributedOptimizer::Impl::require_usable() const {
  if (!failure_.empty()) {
    throw Error(ErrorCode::aborted,
                concat("DistributedOptimizer: unusable since an earlier call failed: ", failure_));
  }
}

void DistributedOptimizer::Impl::broadcast_parameters(int root) {
  require_usable();
  if (root < 0 || root >= comm_.size()) {
    refuse("broadcast_parameters from rank ", root, " of ", comm_.size());
  }
  if (state_ != State::accumulating || backwards_ > 0) {
    refuse("broadcast_parameters in the middle of a window: call step() first");
  }
  if (comm_.size() == 1) {
    return;
  }
  unusable_if_it_throws([&] {
    broadcast_tensors(comm_, parameters_.trained, root);
    broadcast_tensors(comm_, parameters_.frozen, root);
    broadcast_state(comm_, *optimizer_, root);
  });
}

void DistributedOptimizer::Impl::require_backward_makes_sense(const at::Tensor& loss,
                                                              double weight) const {
  if (backwards_ == options_.micro_batches) {
    refuse("backward() for a window that already has its ", backwards_,
           " micro-batches: call step() first, or raise micro_batches");
  }
  if (state_ != State::accumulating) {
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

void DistributedOptimizer::Impl::backward(const at::Tensor& loss, double weight) {
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
      run_backward(loss, weight);
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

void DistributedOptimizer::Impl::run_backward(const at::Tensor& loss, double weight) {
  in_backward_ = true;
  const double scale = weight / nominal_weight_;
  if (scale == 1) {
    loss.backward();
  } else {
    loss.backward(at::full(loss.sizes(), scale, loss.options()));
  }
  in_backward_ = false;
}

void DistributedOptimizer::Impl::close_window() {
  if (state_ == State::accumulating) {
    state_ = State::reducing;
    mine_.stops = std::exchange(stop_requested_, false) ? 1 : 0;
  }
}

// From any state to `reduced`, with the division still pending.
void DistributedOptimizer::Impl::finish_reduction() {
  require_usable();
  if (state_ == State::reduced) {
    return;
  }
  if (state_ == State::accumulating) {
    gradients_.require_untouched();
  }
  unusable_if_it_throws([&] {
    agree_on_nominal_weight(0);
    if (state_ == State::accumulating) {
      close_window();
      gradients_.start_rest(mine_);
    }
    const Totals all = gradients_.finish();
    const bool empty = all.weight <= 0;
    window_ = {.loss = empty ? 0 : all.weighted_loss / all.weight,
               .weight = all.weight,
               .stop = all.stops > 0};
    pending_scale_ = empty ? 1 : nominal_weight_ / all.weight;
    state_ = State::reduced;
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

bool DistributedOptimizer::Impl::step() {
  reduce();
  const bool any = window_->weight > 0;
  unusable_if_it_throws([&] {
    if (any) {
      optimizer_->step();
    }
    gradients_.clear();
  });
  state_ = State::accumulating;
  backwards_ = 0;
  mine_ = {};
  return any;
}

DistributedOptimizer::Window DistributedOptimizer::Impl::window() const {
  const bool is_new = state_ != State::reduced && (backwards_ > 0 || !window_);
  if (is_new) {
    refuse(
        "window() before the window is reduced: call reduce(), clip_grad_norm() or step() "
        "first");
  }
  return *window_;
}

DistributedOptimizer::DistributedOptimizer(Communicator& comm,
                                           const NamedTensors& parameters,
                                           std::unique_ptr<torch::optim::Optimizer> optimizer,
                                           const DistributedOptimizerOptions& options)
    : impl_(std::make_unique<Impl>(comm, parameters, std::move(optimizer), options)) {}

DistributedOptimizer::~DistributedOptimizer() = default;

void DistributedOptimizer::broadcast_parameters(int root) { impl_->broadcast_parameters(root); }
void DistributedOptimizer::backward(const at::Tensor& loss, double weight) {
  impl_->backward(loss, weight);
}
void DistributedOptimizer::reduce() { impl_->reduce(); }
double DistributedOptimizer::clip_grad_norm(double max_norm) {
  return impl_->clip_grad_norm(max_norm);
}
bool DistributedOptimizer::step() { return impl_->step(); }
DistributedOptimizer::Window DistributedOptimizer::window() const { return impl_->window(); }
void DistributedOptimizer::request_stop() { impl_->request_stop(); }
double DistributedOptimizer::nominal_weight() const { return impl_->nominal_weight(); }
std::size_t DistributedOptimizer::bucket_count() const { return impl_->gradients().bucket_count(); }
std::uint64_t DistributedOptimizer::collectives() const { return impl_->gradients().started(); }
torch::optim::Optimizer& DistributedOptimizer::optimizer() { return impl_->optimizer(); }

}  // namespace bp
