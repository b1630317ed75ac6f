// The parameters of a DistributedOptimizer and the state of its wrapped optimizer, once for all
// ranks of a host (Shard of bp/torch/distributed_optimizer.h). A rank that shares memory with no
// other counts as a host of its own.
//
// Between two steps the optimizer looks as it does on a single rank: its groups have the whole
// parameters and its state whole tensors, all of which lie in shared memory. For a step each rank
// puts vectors of its own elements in their place. A tensor that the optimizer has made for such a
// vector becomes a part of a new whole one.
//
// If the ranks of several hosts divide the work, the state stays in parts after a step, until
// gather_state(). The whole tensor has pages in memory only where this host's ranks own elements.
// A device has no such pages. There a tensor of the state has this rank's elements alone, but for
// the one that ranks exchange and those that are gathered; the parameters stay where they are.
//
// The program's ranks do the same with the optimizer, as everywhere, so all of them find new
// tensors in the same step. Threads: one at a time.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/optim/optimizer.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "bp/collective.h"
#include "bp/communicator.h"
#include "bp/torch/elementwise.h"
#include "comm/torch/host_exchange.h"
#include "comm/torch/layer_gathers.h"
#include "comm/torch/owners.h"
#include "comm/torch/parameter_set.h"

namespace bp {

class HostShards final : private ParameterParts {
 public:
  struct Options {
    std::vector<std::string> sparse;               // as DistributedOptimizerOptions has it
    std::vector<std::vector<std::string>> layers;  // the same; empty on one host
    bool frees_layers = false;                     // of other hosts
    PartOf part_of;  // which elements of the trained parameter i an owner has, in memory's order
  };
  // Collective. Moves the parameters into shared memory, with the values of rank 0, but not those
  // that `sparse` names unless the optimizer divides rows. All must outlive this object, and
  // `owners` are connected.
  HostShards(Owners& owners,
             const ParameterSet& parameters,
             torch::optim::Optimizer& optimizer,
             Options options);
  // Gives each rank of a host a copy of the parameters.
  ~HostShards() override;
  HostShards(const HostShards&) = delete;
  HostShards& operator=(const HostShards&) = delete;

  // Collective. All hosts get the parameters that the host of rank `root` of the world has.
  void broadcast_parameters(int root);
  // Collective. All hosts get the state that rank `root` of the world has. `broadcast_rest` does so
  // for what the optimizer saves, without tensors that are as long as parameters.
  void broadcast_state(int root, const std::function<void()>& broadcast_rest);
  // Collective. Makes the state whole on the host of rank `root` of the world, until the next step.
  void gather_state(int root);
  // Collective. Calls `visit` on rank 0 for each piece of the parameters and of the state that
  // hosts have in parts, while it is whole there.
  void stream_state(const std::function<void(const Exchanged& piece)>& visit);
  // Collective. Calls `change`, after which part_of() may return other parts.
  void while_parts_change(const std::function<void()>& change);
  // Collective. Runs the optimizer's step on this rank's elements. All ranks see the result.
  void step();
  // Null if there are none.
  [[nodiscard]] LayerGathers* layers() { return layers_ ? &*layers_ : nullptr; }
  // Whether the parameter lies in shared memory.
  [[nodiscard]] bool has(const at::Tensor& parameter) const;

 private:
  struct Divided {
    at::Tensor parameter;                // the program's
    std::size_t number = 0;              // among the trained ones
    at::Tensor shared = {};              // its elements in the order of memory
    at::Tensor part = {};                // this rank's, for the optimizer
    Block own = {};                      // which these are
    std::vector<at::Tensor> state = {};  // as `shared`, of its state; undefined: none yet. On a
                                         // device of `own` only, or of all elements.
  };

  [[nodiscard]] static at::Tensor whole(const Divided& one, const at::Tensor& elements);
  [[nodiscard]] static bool is_shared(const Divided& one);
  [[nodiscard]] std::vector<at::Tensor*> state_of(const at::Tensor& parameter) const;
  void share_rows();
  void move_state(const at::Tensor& from, const at::Tensor& to);
  void leave_in_parts();
  bool settle_state(bool in_step, bool writes);
  template <class Visit>
  void for_each_state(std::size_t count, bool in_step, const Visit& visit);
  void choose_part(Divided& one);
  void divide();
  void unite();
  void exchange_state(const PartOf& part_before, std::optional<int> to);
  [[nodiscard]] Place place_of(const at::Tensor& part) const override;
  void all_reduce(std::span<double> numbers) const override;
  [[nodiscard]] Exchanged exchanged(const Divided& one) const {
    return {.elements = one.shared, .parameter = one.number};
  }
  void make_layers(const ParameterSet& parameters, const Options& options);
  [[nodiscard]] std::vector<Exchanged> divided_state();
  void leave_layers();
  void exchange_on_host(std::span<const Exchanged> tensors, const Exchange& exchange);
  [[nodiscard]] std::vector<std::vector<Block>> parts() const;
  void free_state_of_other_hosts();

  Owners& owners_;
  torch::optim::Optimizer& optimizer_;
  const Elementwise& elementwise_;
  const PartOf part_of_;
  std::optional<LayerGathers> layers_;
  std::vector<Exchanged> in_no_layer_;
  std::vector<Exchanged> in_layers_;
  bool state_is_whole_ = true;     // of this rank, outside of a step: not in parts
  bool state_is_divided_ = false;  // each host has its part; the same on all ranks, as is the next
  std::optional<int> gathered_ = {};       // the host that has the others', too
  bool has_state_of_other_hosts_ = false;  // in memory
  // First those of which the optimizer gets parts, then those whose rows it divides itself, which
  // have state, too, then the frozen ones.
  std::vector<Divided> divided_;
  const bool is_on_device_;
  std::span<std::byte> memory_;  // of the parameters, unless they lie on a device
  std::size_t in_parts_ = 0;
  std::size_t with_state_ = 0;
  std::unordered_map<const void*, at::Tensor> parts_;  // by the parameter
  std::vector<std::vector<at::Tensor>> members_;       // of the groups, during a step
};

}  // namespace bp
