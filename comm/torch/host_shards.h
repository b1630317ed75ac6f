// The parameters of a DistributedOptimizer and the state of its wrapped optimizer, once for all
// ranks of a host (Shard of bp/torch/distributed_optimizer.h).
//
// Between two steps the optimizer looks as it does on a single rank: its groups have the whole
// parameters and its state whole tensors, all of which lie in shared memory. For a step each rank
// puts vectors of its own elements in their place. A tensor that the optimizer has made for such a
// vector becomes a part of a new whole one.
//
// The program's ranks do the same with the optimizer, as everywhere, so all of them find new
// tensors in the same step. Threads: one at a time.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/optim/optimizer.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "bp/collective.h"
#include "bp/communicator.h"
#include "bp/torch/elementwise.h"
#include "comm/torch/parameter_set.h"

namespace bp {

// Returns why these ranks cannot share this optimizer's work; empty if they can. The same on all
// ranks.
[[nodiscard]] std::string reason_against_shards(const Communicator& comm,
                                                const ParameterSet& parameters,
                                                const torch::optim::Optimizer& optimizer);

class HostShards {
 public:
  // Collective. Moves the parameters into shared memory, with the values of rank 0, but not those
  // that `sparse` names unless the optimizer divides rows. All must outlive this object.
  HostShards(Communicator& comm,
             const ParameterSet& parameters,
             const std::vector<std::string>& sparse,
             torch::optim::Optimizer& optimizer);
  // Gives this rank a copy of each parameter.
  ~HostShards();
  HostShards(const HostShards&) = delete;
  HostShards& operator=(const HostShards&) = delete;

  // Collective. Moves state that the program has given the optimizer into shared memory, with the
  // values of `root`. The other ranks see them after the next collective.
  void share_state(int root);
  // Collective. Runs the optimizer's step on this rank's elements: `own(i)` of trained parameter i,
  // in the order of memory. All ranks see the result.
  void step(const std::function<Block(std::size_t)>& own);
  // Whether the parameter lies in shared memory.
  [[nodiscard]] bool has(const at::Tensor& parameter) const;

 private:
  struct Divided {
    at::Tensor parameter;                // the program's
    std::size_t number = 0;              // among the trained ones
    at::Tensor shared = {};              // its elements in the order of memory
    at::Tensor part = {};                // this rank's, for the optimizer
    Block own = {};                      // which these are
    std::vector<at::Tensor> state = {};  // as `shared`, of its state; undefined: none yet
  };

  [[nodiscard]] static at::Tensor whole(const Divided& one, const at::Tensor& elements);
  [[nodiscard]] static bool is_shared(const Divided& one);
  [[nodiscard]] std::vector<at::Tensor*> state_of(const at::Tensor& parameter) const;
  void share_rows();
  void move_state(const at::Tensor& from, const at::Tensor& to);
  bool settle_state(bool parts, bool writes);
  void divide(const std::function<Block(std::size_t)>& own);
  void unite();

  Communicator& comm_;
  torch::optim::Optimizer& optimizer_;
  const Elementwise& elementwise_;
  // First those of which the optimizer gets parts, then those whose rows it divides itself, which
  // have state, too, then the frozen ones.
  std::vector<Divided> divided_;
  std::size_t in_parts_ = 0;
  std::size_t with_state_ = 0;
  std::unordered_map<const void*, at::Tensor> parts_;  // by the parameter
  std::vector<std::vector<at::Tensor>> members_;       // of the groups, during a step
};

}  // namespace bp
