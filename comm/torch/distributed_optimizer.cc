#include "bp/torch/distributed_optimizer.h"

#include <torch/optim/optimizer.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bp/collective.h"
#include "bp/trace.h"
#include "comm/torch/closure_step.h"
#include "comm/torch/failure_latch.h"
#include "comm/torch/gradient_window.h"
#include "comm/torch/host_shards.h"
#include "comm/torch/misuse.h"
#include "comm/torch/optimizer_broadcast.h"
#include "comm/torch/optimizer_checks.h"
#include "comm/torch/parameter_set.h"
#include "comm/torch/part_exchange.h"
#include "comm/torch/shared_room.h"
#include "comm/torch/step_agreement.h"
#include "comm/torch/synchroniser.h"
#include "comm/torch/tensor_view.h"

namespace bp {
namespace {

// Returns the names of the parameters of which ranks may have different ones between steps.
std::vector<std::string> may_differ(const DistributedOptimizerOptions& options) {
  std::vector<std::string> names = options.sparse_gradients;
  for (const std::vector<std::string>& layer : options.layers) {
    names.insert(names.end(), layer.begin(), layer.end());
  }
  return names;
}

std::unique_ptr<torch::optim::Optimizer> required(
    std::unique_ptr<torch::optim::Optimizer> optimizer) {
  if (!optimizer) {
    refuse("there is no optimizer to wrap: make one of torch::optim with the same parameters");
  }
  return optimizer;
}

}  // namespace

// The wrapped optimizer, its parameters, and the window that fills their gradients.
class DistributedOptimizer::Impl {
 public:
  Impl(Communicator& comm,
       const NamedTensors& parameters,
       std::unique_ptr<torch::optim::Optimizer> optimizer,
       const DistributedOptimizerOptions& options)
      : comm_(comm),
        parameters_(sort_parameters(parameters)),
        optimizer_(required(std::move(optimizer))),
        options_(checked(options, comm, parameters_, *optimizer_)),
        owners_(comm,
                has_rounds() && !divides() ? comm.topology()
                                           : memory_topology(comm, parameters_.device()),
                options_.shard != Shard::host && divides(),
                options_.shard_shares),
        inside_(connected()),
        agreement_(inside_, parameters_.trained, may_differ(options_), *optimizer_),
        window_(comm,
                inside_,
                parameters_,
                options_,
                divides() ? &owners_ : nullptr,
                latch_,
                agreement_),
        closure_step_(comm, parameters_, *optimizer_, window_) {
    for (const Parameter& buffer : check_buffers(options_.buffers)) {
      buffers_.push_back(buffer.tensor);
    }
    if (divides()) make_shards();
    if (has_rounds()) {
      sync_.emplace(comm, leaders(), parameters_.trained, options_);
    }
  }

  void broadcast_parameters(int root) {
    latch_.require_usable();
    if (root < 0 || root >= comm_.size()) {
      refuse("broadcast_parameters from rank ", root, " of ", comm_.size());
    }
    window_.require_empty("broadcast_parameters");
    if (comm_.size() == 1) {
      if (sync_) sync_->begin();
      return;
    }
    latch_.run([&] {
      if (LayerGathers* const layers = layers_of_hosts()) layers->gather();
      broadcast_tensors(comm_, unshared(parameters_.trained), root);
      broadcast_tensors(comm_, unshared(parameters_.frozen), root);
      if (shards_) shards_->broadcast_parameters(root);
      broadcast_state_of(root);
      share_buffers(root);
      window_.broadcast_scales(root);
      closure_step_.state_was_broadcast();
      agreement_.run_write([] {});
      agreement_.confirmed();
      if (sync_) sync_->begin();
    });
  }

  void backward(const at::Tensor& loss, double weight, bool retain_graph) {
    closure_step_.require_backward_possible();
    if (sync_) sync_->step_begins();
    window_.backward(loss, weight, retain_graph);
  }

  Passes accumulate(std::int64_t rows, const Pass& pass, std::int64_t most) {
    latch_.require_usable();
    return window_.accumulate(rows, pass, most);
  }

  void zero_grad() const {
    latch_.require_usable();
    window_.require_empty("zero_grad");
  }

  bool step() {
    latch_.require_usable();
    closure_step_.require_step_possible();
    window_.require_same_forms();
    window_.reduce();
    const bool steps = window_.can_step();
    latch_.run([&] {
      agree_on_members();
      if (window_.is_from_all_ranks() && !sync_) share_buffers(0);
      window_.prepare_end();
      if (sync_) sync_->note_rows();
      if (steps) {  // the last that can fail because of another rank has been done
        const TraceScope scope(comm_.trace(), kTraceRow, "step");
        agreement_.run_write([&] { update(); });
      }
      window_.end();
      if (sync_ && sync_->add(window_.result())) make_round(&Synchroniser::meet);
    });
    return steps;
  }

  void synchronise() {
    latch_.require_usable();
    window_.require_empty("synchronise");
    if (sync_) latch_.run([&] { make_round(&Synchroniser::synchronise); });
  }

  bool step(const std::function<void()>& closure) {
    latch_.require_usable();
    if (shards_) refuse("step(closure) with `shard`: no rank has the whole gradient");
    if (sync_) refuse("step(closure) with rounds (`sync`): rank 0 decides each step of all ranks");
    window_.require_empty("step(closure)");
    closure_step_.require_possible(closure);
    latch_.run([&] {
      agree_on_members();
      agreement_.suspend(true);
      agreement_.run_write([&] { closure_step_.run(closure); });
      agreement_.suspend(false);
      share_buffers(0);
      window_.prepare_end();
      window_.end();
    });
    return true;
  }

  State state() const {
    window_.require_empty("state");
    State state = window_.state();
    if (sync_) sync_->add_to(state);
    return state;
  }

  void load_state(const State& state) {
    latch_.require_usable();
    window_.require_empty("load_state");
    require_plausible(state, parameters_.trained.size());
    if (comm_.size() > 1) {
      require_agreement(comm_, state);
    }
    window_.load_state(state);
    if (sync_) latch_.run([&] { sync_->load(state); });
  }

  void gather_state(int root) {
    latch_.run([&] {
      if (sync_ && comm_.topology().hosts() > 1) average_state();
      if (shards_) shards_->gather_state(root);
    });
  }

  void stream_state(const VisitPiece& visit) {
    latch_.require_usable();
    window_.require_empty("stream_state");
    if (shards_) latch_.run([&] { shards_->stream(visit); });
  }

  void enter_layer(std::size_t layer) {
    latch_.require_usable();
    if (LayerGathers* const layers = layers_of_hosts()) {
      window_.run_uncounted([&] { latch_.run([&] { layers->enter(layer); }); });
    }
  }

  void gather_parameters() {
    if (LayerGathers* const layers = layers_of_hosts()) latch_.run([&] { layers->gather(); });
  }

  [[nodiscard]] Shard shard() const { return options_.shard; }
  [[nodiscard]] bool has_rounds() const { return !options_.sync.is_each_step(); }
  [[nodiscard]] bool ends_round() const { return !sync_ || sync_->ends_round(); }
  [[nodiscard]] bool ended_round() const { return !sync_ || sync_->ended_round(); }
  [[nodiscard]] bool is_common() const { return !sync_ || sync_->is_common(); }
  [[nodiscard]] Window round() const { return sync_ ? sync_->totals() : window_.result(); }
  [[nodiscard]] Counters round_counters() {
    return sync_ && leaders() != nullptr ? leaders()->counters() : Counters();
  }
  GradientWindow& window() { return window_; }
  torch::optim::Optimizer& optimizer() { return *optimizer_; }

 private:
  // Returns the ranks that reduce gradients in each step.
  Communicator& connected() {
    require_known(options_.sparse_gradients, parameters_);
    agree_on_members();
    if (!has_rounds()) return comm_;
    owners_.connect();
    return comm_.topology().hosts() > 1 ? owners_.local() : comm_;
  }

  // The first ranks of all hosts, in rounds.
  Communicator* leaders() { return comm_.topology().hosts() > 1 ? owners_.leaders() : nullptr; }

  void make_shards() {
    if (!has_rounds()) owners_.connect();
    agreement_.run_write([&] {
      const PartOf part_of = [this](std::size_t i, int owner) {
        return window_.gradients().part_of(i, owner);
      };
      shards_.emplace(owners_, parameters_, *optimizer_,
                      HostShards::Options{.sparse = options_.sparse_gradients,
                                          .layers = options_.layers,
                                          .frees_layers = options_.shard == Shard::parameters,
                                          .part_of = part_of});
    });
  }

  // Runs again whenever the wrapped optimizer has got other parameters, because ranks that step
  // different ones would drift apart.
  void agree_on_members() {
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

  [[nodiscard]] LayerGathers* layers_of_hosts() { return shards_ ? shards_->layers() : nullptr; }
  [[nodiscard]] bool divides() const { return options_.shard != Shard::none; }

  void update() {
    if (shards_) {
      shards_->step();
    } else {
      optimizer_->step();
    }
  }

  void broadcast_state_of(int root) {
    const auto broadcast_all = [&] {
      broadcast_state(comm_, *optimizer_, parameters_.device(), root);
    };
    if (shards_) {
      shards_->broadcast_state(root, broadcast_all);
    } else {
      broadcast_all();
    }
  }

  // The first rank of each host writes the parameters, and the others get them from it.
  void make_round(void (Synchroniser::*exchange)()) {
    const TraceScope scope(comm_.trace(), kTraceRow, "round");
    agreement_.run_write([&] {
      ((*sync_).*exchange)();
      broadcast_tensors(inside_, unshared(parameters_.trained), 0);
      barrier(inside_, {.name = "the parameters of a round"});
    });
    share_buffers(0);
  }

  // All hosts get the mean of their states.
  void average_state() {
    sync_->average_to_rank_0(*optimizer_);
    broadcast_state_of(0);
  }

  // Returns those that do not lie in shared memory.
  [[nodiscard]] std::vector<at::Tensor> unshared(const std::vector<Parameter>& parameters) const {
    std::vector<at::Tensor> tensors;
    for (const auto& [name, tensor] : parameters) {
      if (!shards_ || !shards_->has(tensor)) tensors.push_back(tensor);
    }
    return tensors;
  }

  void share_buffers(int root) { broadcast_tensors(comm_, buffers_, root); }

  Communicator& comm_;
  const ParameterSet parameters_;
  const std::unique_ptr<torch::optim::Optimizer> optimizer_;
  const DistributedOptimizerOptions options_;
  FailureLatch latch_;
  std::optional<Members> members_;  // of optimizer_, as all ranks have agreed
  Owners owners_;                   // if ranks divide work, or hosts meet in rounds
  Communicator& inside_;            // the ranks that reduce gradients in each step
  StepAgreement agreement_;
  GradientWindow window_;
  ClosureStep closure_step_;
  std::vector<at::Tensor> buffers_;  // of options_.buffers
  std::optional<HostShards> shards_;
  std::optional<Synchroniser> sync_;  // of rounds
};

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
void DistributedOptimizer::begin_window(int micro_batches) { impl_->window().begin(micro_batches); }
void DistributedOptimizer::announce_rows(const std::string& parameter,
                                         std::span<const std::int64_t> rows) {
  impl_->window().announce_rows(parameter, rows);
}
void DistributedOptimizer::backward(const at::Tensor& loss, double weight, bool retain_graph) {
  impl_->backward(loss, weight, retain_graph);
}
DistributedOptimizer::Passes DistributedOptimizer::accumulate(std::int64_t rows,
                                                              const Pass& pass,
                                                              std::int64_t most) {
  return impl_->accumulate(rows, pass, most);
}
void DistributedOptimizer::zero_grad() { impl_->zero_grad(); }
void DistributedOptimizer::reduce() { impl_->window().reduce(); }
double DistributedOptimizer::clip_grad_norm(double max_norm) {
  return impl_->window().clip_grad_norm(max_norm);
}
bool DistributedOptimizer::step() { return impl_->step(); }
bool DistributedOptimizer::step(const std::function<void()>& closure) {
  return impl_->step(closure);
}
DistributedOptimizer::Window DistributedOptimizer::window() const {
  return impl_->window().result();
}
DistributedOptimizer::State DistributedOptimizer::state() const { return impl_->state(); }
void DistributedOptimizer::load_state(const State& state) { impl_->load_state(state); }
void DistributedOptimizer::request_stop() { impl_->window().request_stop(); }
bool DistributedOptimizer::has_rounds() const { return impl_->has_rounds(); }
bool DistributedOptimizer::ends_round() const { return impl_->ends_round(); }
bool DistributedOptimizer::ended_round() const { return impl_->ended_round(); }
bool DistributedOptimizer::is_common() const { return impl_->is_common(); }
void DistributedOptimizer::synchronise() { impl_->synchronise(); }
DistributedOptimizer::Window DistributedOptimizer::round() const { return impl_->round(); }
Counters DistributedOptimizer::round_counters() const { return impl_->round_counters(); }
double DistributedOptimizer::nominal_weight() const { return impl_->window().nominal_weight(); }
double DistributedOptimizer::loss_scale() const { return impl_->window().loss_scale(); }
std::size_t DistributedOptimizer::bucket_count() const {
  return impl_->window().gradients().bucket_count();
}
std::uint64_t DistributedOptimizer::collectives() const {
  return impl_->window().gradients().started();
}
void DistributedOptimizer::enter_layer(std::size_t layer) { impl_->enter_layer(layer); }
void DistributedOptimizer::gather_parameters() { impl_->gather_parameters(); }
void DistributedOptimizer::gather_state(int root) { impl_->gather_state(root); }
void DistributedOptimizer::stream_state(const VisitPiece& visit) { impl_->stream_state(visit); }
Shard DistributedOptimizer::shard() const { return impl_->shard(); }
torch::optim::Optimizer& DistributedOptimizer::optimizer() { return impl_->optimizer(); }

}  // namespace bp
