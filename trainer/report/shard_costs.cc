#include "trainer/report/shard_costs.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/report/escape.h"
#include "base/report/report_table.h"
#include "base/text.h"

namespace bp::trainer {
namespace {

std::uint64_t part_of(std::uint64_t bytes, double share) {
  return static_cast<std::uint64_t>(std::llround(static_cast<double>(bytes) * share));
}

bool is_int8(const TrainingState& state) { return state.wire == 1; }

// Blocks of 64 int8 have a factor of two bytes.
std::uint64_t on_wire(const TrainingState& state) {
  const std::uint64_t bytes = state.dense * state.wire / sizeof(float);
  return is_int8(state) ? bytes + bytes / 32 : bytes;
}

// A narrow wire has memory of its own, which int8 has for errors, and error feedback keeps what
// rounding took. On one host nothing travels as int8.
std::uint64_t gradients_of_rank(const TrainingState& state) {
  if (is_int8(state)) return state.hosts.size() == 1 ? state.dense : 3 * state.dense;
  return state.dense + (state.wire < sizeof(float) ? on_wire(state) : 0) +
         (state.error_feedback ? state.dense : 0);
}

std::string in_mib(std::uint64_t bytes) { return fixed(static_cast<double>(bytes) / (1 << 20), 1); }

// Each pass through the layers needs all but the one that the pass before ended with.
std::uint64_t brought_again(const TrainingState& state) {
  if (state.layers == 0) return 0;
  const auto layers = static_cast<std::uint64_t>(state.layers);
  const auto passes = static_cast<std::uint64_t>(2 * state.micro_batches - 1);
  return state.in_layers / layers * (layers - 1) * passes;
}

bool reduces_each(const TrainingState& state, Shard shard) {
  return state.reduce_each && frees_gradients(shard);
}

// A ring takes a sum past all hosts but its owner, and brings it to all hosts but its owner.
std::uint64_t sent_by(const TrainingState& state, std::size_t host, Shard shard) {
  const std::vector<ShardHost>& hosts = state.hosts;
  if (hosts.size() == 1) return 0;
  const std::uint64_t gradients = on_wire(state);
  const std::uint64_t reduced = part_of(gradients, 2 - 2.0 / static_cast<double>(hosts.size()));
  if (!divides_among_hosts(shard)) return reduced;
  const double next = hosts[(host + 1) % hosts.size()].share;
  const std::uint64_t again = shard == Shard::parameters ? brought_again(state) : 0;
  const auto times =
      static_cast<std::uint64_t>(reduces_each(state, shard) ? state.micro_batches : 1);
  const std::uint64_t summed =
      is_int8(state) ? reduced : part_of(gradients, 1 - hosts[host].share) * times;
  return summed + part_of(state.dense + again, 1 - next);
}

}  // namespace

std::vector<ShardHost> shard_hosts(const Topology& topology, const std::vector<double>& of_ranks) {
  std::vector<ShardHost> hosts;
  double all = 0;
  std::size_t rank = 0;
  for (const int ranks : topology.local_sizes) {
    ShardHost& host = hosts.emplace_back(ShardHost{.ranks = ranks, .share = 0});
    for (int l = 0; l < ranks; ++l) host.share += of_ranks.empty() ? 1 : of_ranks[rank++];
    all += host.share;
  }
  for (ShardHost& host : hosts) host.share /= all;
  return hosts;
}

ShardCost shard_cost(const TrainingState& state, std::size_t host, Shard shard) {
  const ShardHost& at = state.hosts.at(host);
  const auto ranks = static_cast<std::uint64_t>(at.ranks);
  const std::uint64_t copies = shard == Shard::none ? ranks : 1;  // of what ranks can share
  const std::uint64_t gradients = gradients_of_rank(state);
  const double share = divides_among_hosts(shard) ? at.share : static_cast<double>(copies);
  const bool reduces = reduces_each(state, shard);
  ShardCost cost{.shard = shard, .reduce_each = reduces, .ranks = at.ranks};
  const std::uint64_t shared = state.weights() - state.undivided;
  cost.weights = shared * copies + (state.kept() - shared) * ranks;
  cost.moments =
      state.moments * (part_of(state.dense, share) + state.rows * copies + state.undivided * ranks);
  cost.gradients = frees_gradients(shard) ? 0 : gradients * ranks;
  const bool keeps = state.micro_batches > 1 && !reduces;
  cost.in_step = !frees_gradients(shard) ? cost.gradients
                 : keeps                 ? gradients * ranks
                                         : part_of(gradients, share);
  const bool frees = shard == Shard::parameters && state.layers > 0;
  const std::uint64_t others = frees ? state.in_layers - part_of(state.in_layers, at.share) : 0;
  cost.weights -= others;
  // A layer, the next one, and that on its way.
  if (frees) cost.in_use = std::min(others, 3 * others / state.layers);
  cost.peak = cost.weights + cost.in_use + cost.moments + cost.in_step;
  cost.sent = sent_by(state, host, shard);
  return cost;
}

RankMemory memory_of_rank(const TrainingState& state, Shard shard) {
  RankMemory most;
  for (std::size_t host = 0; host < state.hosts.size(); ++host) {
    const ShardCost cost = shard_cost(state, host, shard);
    const auto ranks = static_cast<std::uint64_t>(cost.ranks);
    TrainingState alone = state;
    alone.hosts[host].ranks = 1;
    const std::uint64_t weights = shard_cost(alone, host, shard).weights + cost.in_use;
    most.weights = std::max(most.weights, weights);
    most.gradients = std::max(most.gradients, cost.in_step / ranks);
    most.moments = std::max(most.moments, cost.moments / ranks);
  }
  return most;
}

std::vector<ShardCost> shard_costs(const TrainingState& state) {
  std::vector<ShardCost> costs;
  TrainingState way = state;
  for (const Shard shard :
       {Shard::none, Shard::host, Shard::optimizer, Shard::gradients, Shard::parameters}) {
    for (const bool each : {false, true}) {
      way.reduce_each = each;
      if (each && (!frees_gradients(shard) || state.micro_batches == 1)) continue;
      ShardCost& most = costs.emplace_back();
      for (std::size_t host = 0; host < state.hosts.size(); ++host) {
        most = std::max(most, shard_cost(way, host, shard),
                        [](const auto& a, const auto& b) { return a.peak < b.peak; });
      }
    }
  }
  return costs;
}

std::string shard_table(const std::vector<ShardCost>& costs) {
  Table table = table_of({"--shard"});
  for (const auto& [name, bytes] : costs.at(0).figures()) table.columns.push_back({name});
  table.columns.push_back({"peak of none"});
  for (const ShardCost& cost : costs) {
    std::vector<std::string> row = {
        concat(name_of(cost.shard), cost.reduce_each ? " --reduce-each" : "")};
    for (const auto& [name, bytes] : cost.figures()) row.push_back(in_mib(bytes));
    row.push_back(fixed(static_cast<double>(cost.peak) / static_cast<double>(costs[0].peak), 2));
    table.add(std::move(row));
  }
  return terminal_text(table);
}

}  // namespace bp::trainer
