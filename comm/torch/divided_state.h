// The state of a wrapped optimizer whose work ranks divide (Shard of
// bp/torch/distributed_optimizer.h).
//
// If the ranks that divide it share one memory, its tensors lie there whole, and so do those of
// rows in any case. Otherwise a rank has vectors of its own elements, from its first step or
// broadcast on. In a step the optimizer has this rank's elements in either case; where tensors are
// whole, one that it has made for such a vector becomes a part of a new whole one.
//
// The program's ranks do the same with the optimizer, as everywhere, so all of them find new
// tensors in the same step. Threads: one at a time.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/optim/optimizer.h>

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "bp/collective.h"
#include "bp/torch/distributed_optimizer.h"
#include "bp/torch/elementwise.h"
#include "comm/torch/owners.h"
#include "comm/torch/part_exchange.h"

namespace bp {

struct Divided {
  std::string name;
  at::Tensor parameter;                // the program's
  std::size_t number = 0;              // among the trained ones
  at::Tensor elements = {};            // all, in the order of memory
  Block own = {};                      // this rank's
  at::Tensor part = {};                // these, for the optimizer
  std::vector<at::Tensor> homes = {};  // of its state in shared memory, as `elements`
};

class DividedState {
 public:
  // Ranks divide the first `in_parts` of the parameters, of which part_of() tells their parts, and
  // the rows of the others. The parts may change between steps only if owners share one memory. All
  // must outlive this object, and `owners` are connected.
  DividedState(Owners& owners,
               torch::optim::Optimizer& optimizer,
               std::span<Divided> parameters,
               std::size_t in_parts,
               PartOf part_of);

  // All that follow are collective. Moves what is whole into shared memory. `writes`: this rank's
  // values count. Returns whether something was elsewhere.
  bool settle(bool writes);
  // In a step the state is that of parts instead of whole parameters.
  void enter_step();
  void leave_step();

  // Rank `root` of the world has all of it until the next step.
  void gather(int root);
  // Calls `visit` on rank 0 for each piece of what is in parts.
  void stream(const DistributedOptimizer::VisitPiece& visit);
  // All hosts get what rank `root` of the world has. `broadcast_rest` does so for what the
  // optimizer saves, without tensors that are as long as parameters.
  void broadcast(int root, const std::function<void()>& broadcast_rest);

 private:
  // A tensor of the state of a parameter.
  struct Moment {
    Divided& of;
    std::size_t number;  // among those of the parameter
    at::Tensor& tensor;  // the optimizer's
    [[nodiscard]] at::Tensor& home() const { return of.homes[number]; }
  };
  using Moments = std::vector<Moment>;

  [[nodiscard]] Moments moments(std::span<Divided> parameters, bool in_step = false) const;
  void choose_parts();
  bool settle(const Moments& all, bool in_step, bool writes);
  void bring(const Moments& all, int root, const std::function<void(const Arrived& piece)>& visit);

  Owners& owners_;
  torch::optim::Optimizer& optimizer_;
  const Elementwise& elementwise_;
  const std::span<Divided> all_;
  const std::span<Divided> divided_;  // of which the optimizer gets parts
  const std::span<Divided> whole_;    // whose state is whole
  const PartOf part_of_;
  bool is_in_parts_ = false;  // the same on all ranks, though one may have all of it, too
};

}  // namespace bp
