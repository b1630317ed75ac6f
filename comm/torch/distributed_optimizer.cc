#include "bp/torch/distributed_optimizer.h"

#include <torch/optim/optimizer.h>
#include <torch/serialize/archive.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <c10/core/Device.h>

#include "bp/collective.h"
#include "bp/trace.h"
#include "comm/torch/closure_step.h"
#include "comm/torch/failure_latch.h"
#include "comm/torch/gradient_window.h"
#include "comm/torch/host_shards.h"
#include "comm/torch/misuse.h"
#include "comm/torch/optimizer_checks.h"
#include "comm/torch/packed_tensors.h"
#include "comm/torch/parameter_set.h"
#include "comm/torch/shared_room.h"
#include "comm/torch/step_agreement.h"
#include "comm/torch/tensor_view.h"

namespace bp {
namespace {

std::string saved(const torch::optim::Optimizer& optimizer) {
  torch::serialize::OutputArchive archive;
  optimizer.save(archive);
  std::string bytes;
  archive.save_to([&bytes](const void* data, std::size_t size) {
    bytes.append(static_cast<const char*>(data), size);
    return size;
  });
  return bytes;
}

// The archive names the device of its writer, which may have another number there.
void load(torch::optim::Optimizer& optimizer, const std::string& bytes, c10::Device device) {
  torch::serialize::InputArchive archive;
  if (device.is_cpu()) {
    archive.load_from(bytes.data(), bytes.size());
  } else {
    archive.load_from(bytes.data(), bytes.size(), device);
  }
  optimizer.state().clear();
  optimizer.load(archive);
}

// Copies one rank's tensors to all ranks, bit for bit.
void broadcast_tensors(Communicator& comm,
                       const std::vector<Parameter>& parameters,
                       const std::optional<HostShards>& shards,
                       int root) {
  for (const auto& [name, tensor] : parameters) {
    if (shards && shards->has(tensor)) continue;
    // As bytes, so that any element type works, and dense, so that strides do not matter.
    const View bytes = {.data = static_cast<std::byte*>(tensor.mutable_data_ptr()),
                        .count = tensor.nbytes(),
                        .type = DataType::u8,
                        .device = device_of(tensor.device())};
    broadcast(comm, bytes, after_work_on(tensor, {.root = root, .name = name}));
  }
}

// Broadcasts everything that the optimizer saves: the state of each parameter (also that it has
// none), step counters, learning rates and the other options of each group. `device` is that of the
// parameters, to which the state is loaded.
void broadcast_state(Communicator& comm,
                     torch::optim::Optimizer& optimizer,
                     c10::Device device,
                     int root) {
  std::string bytes;
  if (comm.rank() == root) {
    bytes = saved(optimizer);
  }
  broadcast_object(comm, bytes, {.root = root, .name = "optimizer state"});
  if (comm.rank() != root) {
    load(optimizer, bytes, device);
  }
}

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
        agreement_(comm, parameters_.trained, may_differ(options_), *optimizer_),
        owners_(comm,
                memory_topology(comm, parameters_.device()),
                options_.shard != Shard::host,
                options_.shard_shares),
        window_(comm, parameters_, options_, divides() ? &owners_ : nullptr, latch_, agreement_),
        closure_step_(comm, parameters_, *optimizer_, window_) {
    require_known(options_.sparse_gradients, parameters_);
    agree_on_members();
    std::vector<Parameter> buffers = check_buffers(options_.buffers);
    if (comm.size() > 1 && !buffers.empty()) {
      buffers_.emplace(comm, std::move(buffers));
    }
    if (!divides()) return;
    owners_.connect();
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

  void broadcast_parameters(int root) {
    latch_.require_usable();
    if (root < 0 || root >= comm_.size()) {
      refuse("broadcast_parameters from rank ", root, " of ", comm_.size());
    }
    window_.require_empty("broadcast_parameters");
    if (comm_.size() == 1) {
      return;
    }
    latch_.run([&] {
      if (LayerGathers* const layers = layers_of_hosts()) layers->gather();
      broadcast_tensors(comm_, parameters_.trained, shards_, root);
      broadcast_tensors(comm_, parameters_.frozen, shards_, root);
      const auto broadcast_all_state = [&] {
        broadcast_state(comm_, *optimizer_, parameters_.device(), root);
      };
      if (shards_) {
        shards_->broadcast_parameters(root);
        shards_->broadcast_state(root, broadcast_all_state);
      } else {
        broadcast_all_state();
      }
      share_buffers(root);
      window_.broadcast_scales(root);
      closure_step_.state_was_broadcast();
      agreement_.run_write([] {});
      agreement_.confirmed();
    });
  }

  void backward(const at::Tensor& loss, double weight, bool retain_graph) {
    closure_step_.require_backward_possible();
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
      if (window_.is_from_all_ranks()) share_buffers(0);
      window_.prepare_end();
      if (steps) {  // the last that can fail because of another rank has been done
        const TraceScope scope(comm_.trace(), kTraceRow, "step");
        agreement_.run_write([&] { update(); });
      }
      if (shards_ && window_.rearranges()) {
        shards_->while_parts_change([&] { window_.end(); });
      } else {
        window_.end();
      }
    });
    return steps;
  }

  bool step(const std::function<void()>& closure) {
    latch_.require_usable();
    if (shards_) refuse("step(closure) with `shard`: no rank has the whole gradient");
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
    return window_.state();
  }

  void load_state(const State& state) {
    latch_.require_usable();
    window_.require_empty("load_state");
    require_plausible(state, parameters_.trained.size());
    if (comm_.size() > 1) {
      require_agreement(comm_, state);
    }
    if (shards_ && window_.rearranges(state)) {
      shards_->while_parts_change([&] { window_.load_state(state); });
    } else {
      window_.load_state(state);
    }
  }

  void gather_state(int root) {
    if (shards_) latch_.run([&] { shards_->gather_state(root); });
  }

  void stream_state(const VisitPiece& visit) {
    latch_.require_usable();
    window_.require_empty("stream_state");
    if (!shards_) return;
    latch_.run([&] {
      shards_->stream_state([&](const Exchanged& piece) {
        visit(parameters_.trained[piece.parameter].name,
              piece.elements.narrow(0, static_cast<std::int64_t>(piece.range.offset),
                                    static_cast<std::int64_t>(piece.range.count)));
      });
    });
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
  GradientWindow& window() { return window_; }
  torch::optim::Optimizer& optimizer() { return *optimizer_; }

 private:
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

  void share_buffers(int root) {
    if (buffers_) {
      buffers_->broadcast(root, false, "buffers");
    }
  }

  Communicator& comm_;
  const ParameterSet parameters_;
  const std::unique_ptr<torch::optim::Optimizer> optimizer_;
  const DistributedOptimizerOptions options_;
  FailureLatch latch_;
  StepAgreement agreement_;
  Owners owners_;  // if ranks divide work
  GradientWindow window_;
  ClosureStep closure_step_;
  std::optional<Members> members_;        // of optimizer_, as all ranks have agreed
  std::optional<PackedTensors> buffers_;  // of options_.buffers, with several ranks
  std::optional<HostShards> shards_;
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
