// What the CPU ranks of a host keep and send in training, by how much they shard: arithmetic only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bp/topology.h"
#include "bp/torch/shard.h"

namespace bp::trainer {

struct ShardHost {
  int ranks = 1;
  double share = 1;  // of what all hosts divide
};

// `of_ranks`: the shares of all ranks; empty: equal ones.
[[nodiscard]] std::vector<ShardHost> shard_hosts(const Topology& topology,
                                                 const std::vector<double>& of_ranks);

// The parameters of a model, in bytes, what a rank keeps beside them, and where the ranks are.
struct TrainingState {
  std::uint64_t frozen = 0;
  std::uint64_t dense = 0;      // trained, with dense gradients
  std::uint64_t rows = 0;       // trained, with sparse gradients; a host's ranks divide the rows
  std::uint64_t undivided = 0;  // trained, with sparse gradients; whole on each rank
  std::uint64_t moments = 0;    // numbers that the optimizer keeps for each trained parameter
  bool averages = false;        // each rank keeps averages of all parameters
  std::uint64_t wire = 4;       // bytes of a dense gradient's element between ranks; 1: int8
  bool error_feedback = false;
  int micro_batches = 1;
  bool reduce_each = false;     // micro-batch, where gradients are freed
  std::uint64_t in_layers = 0;  // of `dense`: what Shard::parameters divides
  int layers = 0;               // of one size
  std::vector<ShardHost> hosts = {{}};

  [[nodiscard]] std::uint64_t trained() const { return dense + rows + undivided; }
  [[nodiscard]] std::uint64_t weights() const { return frozen + trained(); }
  // With the averages.
  [[nodiscard]] std::uint64_t kept() const { return weights() * (averages ? 2 : 1); }
};

// Of one host, in bytes. It does not count activations, the rows of sparse gradients and casts.
struct ShardCost {
  Shard shard = Shard::none;
  bool reduce_each = false;
  int ranks = 1;
  std::uint64_t weights = 0;    // from step to step, as the next two; averages are among them
  std::uint64_t gradients = 0;  // dense ones
  std::uint64_t moments = 0;
  std::uint64_t in_use = 0;   // of layers that other hosts own, in a step
  std::uint64_t in_step = 0;  // gradients, before an update
  std::uint64_t peak = 0;     // weights, moments and these two; not the buckets on their way
  std::uint64_t sent = 0;     // to other hosts in a step: dense gradients and parameters

  [[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> figures() const {
    return {{"weights", weights},
            {"gradients", gradients},
            {"moments", moments},
            {"peak", peak},
            {"sent", sent}};
  }
};

// `shard` is not automatic.
[[nodiscard]] ShardCost shard_cost(const TrainingState& state, std::size_t host, Shard shard);

// The most that a rank of these has in a step. What the ranks of a host share counts for each.
struct RankMemory {
  std::uint64_t weights = 0;
  std::uint64_t gradients = 0;
  std::uint64_t moments = 0;
};
[[nodiscard]] RankMemory memory_of_rank(const TrainingState& state, Shard shard);

// Returns the costs of the host with the highest peak, for each Shard but `automatic`, in order;
// where reduce_each matters, with and without.
[[nodiscard]] std::vector<ShardCost> shard_costs(const TrainingState& state);

// Returns a table for a terminal, in MiB.
[[nodiscard]] std::string shard_table(const std::vector<ShardCost>& costs);

}  // namespace bp::trainer
