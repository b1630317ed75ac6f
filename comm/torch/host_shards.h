// The parameters of a DistributedOptimizer, once for all ranks of a host, and the steps of its
// wrapped optimizer, which ranks divide (Shard of bp/torch/distributed_optimizer.h). A rank that
// shares memory with no other counts as a host of its own; parameters on a device stay where they
// are.
//
// Between two steps the optimizer looks as it does on a single rank: its groups have the whole
// parameters. For a step each rank puts vectors of its own elements in their place.
//
// Threads: one at a time.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/optim/optimizer.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bp/torch/distributed_optimizer.h"
#include "bp/torch/elementwise.h"
#include "comm/torch/divided_state.h"
#include "comm/torch/layer_gathers.h"
#include "comm/torch/owners.h"
#include "comm/torch/parameter_set.h"
#include "comm/torch/part_exchange.h"

namespace bp {

class HostShards final : private ParameterParts {
 public:
  struct Options {
    std::vector<std::string> sparse;               // as DistributedOptimizerOptions has it
    std::vector<std::vector<std::string>> layers;  // the same; empty on one host
    bool frees_layers = false;                     // of other hosts
    PartOf part_of;  // which elements of the trained parameter i an owner has, in memory's order
  };
  // Collective, as all that follow. Moves the parameters into shared memory, with the values of
  // rank 0, but not those that `sparse` names unless the optimizer divides rows. All must outlive
  // this object, and `owners` are connected.
  HostShards(Owners& owners,
             const ParameterSet& parameters,
             torch::optim::Optimizer& optimizer,
             const Options& options);
  // Gives each rank of a host a copy of the parameters.
  ~HostShards() override;
  HostShards(const HostShards&) = delete;
  HostShards& operator=(const HostShards&) = delete;

  // All hosts get the parameters that the host of rank `root` of the world has.
  void broadcast_parameters(int root);
  // See DividedState::broadcast() and gather().
  void broadcast_state(int root, const std::function<void()>& broadcast_rest) {
    state_->broadcast(root, broadcast_rest);
  }
  void gather_state(int root) { state_->gather(root); }
  // Calls `visit` on rank 0 for each piece of the parameters and of the state that are in parts.
  void stream(const DistributedOptimizer::VisitPiece& visit);
  // Runs the optimizer's step on this rank's elements. All ranks see the result.
  void step();
  // Null if there are none.
  [[nodiscard]] LayerGathers* layers() { return layers_ ? &*layers_ : nullptr; }
  // Whether the parameter lies in shared memory.
  [[nodiscard]] bool has(const at::Tensor& parameter) const;

 private:
  void sort_parameters(const ParameterSet& parameters, const std::vector<std::string>& sparse);
  void share_parameters();
  void share_rows();
  void make_layers(const Options& options);
  [[nodiscard]] std::span<Divided> in_parts() { return std::span(divided_).first(in_parts_); }
  void give_parts();
  void take_parts_back();
  [[nodiscard]] Place place_of(const at::Tensor& part) const override;
  void all_reduce(std::span<double> numbers) const override;

  Owners& owners_;
  torch::optim::Optimizer& optimizer_;
  const PartOf part_of_;
  // First those of which the optimizer gets parts, then those whose rows it divides itself, which
  // have state, too, then the frozen ones.
  std::vector<Divided> divided_;
  std::size_t in_parts_ = 0;
  std::size_t with_state_ = 0;
  std::span<std::byte> memory_;  // of the parameters, unless they lie on a device
  std::optional<DividedState> state_;
  std::optional<LayerGathers> layers_;
  std::vector<Exchanged> in_no_layer_;
  std::vector<std::vector<at::Tensor>> members_;  // of the groups, during a step
};

}  // namespace bp
