#include "comm/torch/optimizer_checks.h"

#include <ATen/Version.h>
#include <torch/optim/optimizer.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <set>
#include <typeinfo>

#include <c10/util/Type.h>

#include "base/joined.h"
#include "base/text.h"
#include "bp/torch/portable_steps.h"
#include "comm/torch/divisible.h"
#include "comm/torch/misuse.h"
#include "comm/torch/same_lines.h"
#include "comm/torch/shared_room.h"
#include "comm/torch/tensor_view.h"

namespace bp {
namespace {

std::vector<std::string> describe(const DistributedOptimizer::State& state) {
  std::string order = "bucket order";
  for (const std::int64_t i : state.bucket_order) {
    order += concat(" ", i);
  }
  return {concat("nominal_weight ", state.nominal_weight), concat("loss_scale ", state.loss_scale),
          concat("good_windows ", state.good_windows),
          concat("steps_of_round ", state.steps_of_round), order};
}

std::string describe(const Sync& sync) {
  return concat("sync every ", sync.every, " steps or ", sync.interval.count(), " ms, outer rate ",
                sync.outer.rate, ", momentum ", sync.outer.momentum,
                sync.outer.nesterov ? ", nesterov" : "", sync.late ? ", late" : "", ", ",
                sync.fragments, " fragments");
}

void require_shares(const std::vector<double>& shares, const Topology& topology, bool each_host) {
  if (shares.empty()) return;
  if (shares.size() != static_cast<std::size_t>(topology.size())) {
    refuse("shard_shares has ", shares.size(), " numbers for ", topology.size(), " ranks");
  }
  std::vector<double> of_hosts(static_cast<std::size_t>(topology.hosts()));
  for (int rank = 0; rank < topology.size(); ++rank) {
    const double share = shares[static_cast<std::size_t>(rank)];
    if (!std::isfinite(share) || share < 0) {
      refuse("shard_shares gives rank ", rank, " the share ", share, ": give numbers from 0");
    }
    of_hosts[static_cast<std::size_t>(topology.place_of(rank).host)] += share;
  }
  if (std::ranges::max(of_hosts) == 0) refuse("shard_shares gives nobody a share");
  if (each_host && std::ranges::min(of_hosts) == 0) {
    refuse(
        "shard_shares gives nobody of a host a share, but each host divides everything: set shard "
        "to optimizer or gradients");
  }
}

// Says what rounds the steps. Ranks whose steps round otherwise drift apart.
std::string steps_of(const torch::optim::Optimizer& optimizer, const at::Device& device) {
  if (!device.is_cpu()) {
    return concat("steps on ", name_of(device_of(device).kind));
  }
  if (dynamic_cast<const PortableSteps*>(&optimizer) != nullptr) return "steps on any processor";
  const bool is_old = at::get_cpu_capability() == "DEFAULT";  // AVX512 rounds as AVX2 does
  return concat("steps ", is_old ? "without" : "with", " AVX2 (ATEN_CPU_CAPABILITY)");
}

void require_layers(const DistributedOptimizerOptions& options, const ParameterSet& parameters) {
  if (options.shard == Shard::parameters && options.layers.empty()) {
    refuse(
        "shard = parameters without layers: name the parameters of each layer, or set shard to "
        "gradients");
  }
  std::set<std::string> names;
  for (const std::vector<Parameter>* const some : {&parameters.trained, &parameters.frozen}) {
    for (const Parameter& parameter : *some) names.insert(parameter.name);
  }
  for (const std::vector<std::string>& layer : options.layers) {
    for (const std::string& name : layer) {
      if (names.erase(name) == 0) {
        refuse("layers names ", name, ", which is not a parameter, or is in a layer already");
      }
    }
  }
}

void require_sync(const DistributedOptimizerOptions& options, const Topology& topology) {
  const Sync& sync = options.sync;
  if (sync.every < 1 || sync.interval.count() < 0) {
    refuse("sync has a round every ", sync.every, " steps or ", sync.interval.count(),
           " ms: give at least one step");
  }
  const OuterRule& outer = sync.outer;
  const auto is_in = [](double number, double most) { return number >= 0 && number <= most; };
  if (!is_in(outer.rate, 1e6) || outer.rate == 0 || !is_in(outer.momentum, 1)) {
    refuse("sync has the outer rate ", outer.rate, " and momentum ", outer.momentum,
           ": give a positive rate, and a momentum from 0 to 1");
  }
  if (outer.nesterov && outer.momentum == 0) refuse("sync has nesterov without a momentum");
  const std::int64_t steps = sync.interval.count() > 0 ? kMostFragments : sync.every;
  if (sync.fragments < 1 || sync.fragments > std::min<std::int64_t>(steps, kMostFragments)) {
    refuse("sync has ", sync.fragments, " fragments: give 1 to ", kMostFragments,
           ", and not more than a round has steps");
  }
  if (options.sync.is_each_step()) return;
  if (options.error_feedback) refuse("sync with rounds does not go with error_feedback");
  if (divides_among_hosts(options.shard) && topology.hosts() > 1) {
    refuse("sync with rounds does not go with shard = ", name_of(options.shard),
           ", by which all hosts divide each step: set it to host");
  }
}

}  // namespace

DistributedOptimizerOptions checked(const DistributedOptimizerOptions& given,
                                    const Communicator& comm,
                                    const ParameterSet& parameters,
                                    const torch::optim::Optimizer& optimizer) {
  DistributedOptimizerOptions options = given;
  if (options.micro_batches < 1) {
    refuse("micro_batches is ", options.micro_batches, ", but a window has at least one");
  }
  if (!std::isfinite(options.nominal_weight) || options.nominal_weight < 0) {
    refuse("nominal_weight is ", options.nominal_weight,
           ", but must be positive, or 0 for the default");
  }
  if (options.wire != DataType::f32 && options.wire != DataType::f16 &&
      options.wire != DataType::bf16 && options.wire != DataType::i8) {
    refuse("wire is ", name_of(options.wire), ", but gradients travel as f32, f16, bf16 or i8");
  }
  if (options.wire == DataType::i8 && !parameters.device().is_cpu()) {
    refuse("wire is i8, but the parameters are on ", parameters.device(),
           ", and only the CPU's gradients travel as i8: set wire to f16 or bf16");
  }
  if (options.error_feedback && options.wire == DataType::f32) {
    refuse(
        "error_feedback without a narrow wire, where nothing is rounded: set wire to f16, bf16 or "
        "i8");
  }
  if (options.wire == DataType::i8 && options.sync.is_each_step()) options.error_feedback = true;
  const std::string reason =
      reason_against_shards(comm, parameters.device(), optimizer, options.shard);
  const bool is_asked_for = options.shard != Shard::none && options.shard != Shard::automatic;
  if (is_asked_for && !reason.empty()) {
    refuse("shard = ", name_of(options.shard), ", but ", reason,
           ": set it to none, or to automatic");
  }
  if (frees_gradients(options.shard) && options.error_feedback) {
    refuse("shard = ", name_of(options.shard), " with ",
           options.wire == DataType::i8 ? "wire = i8" : "error_feedback",
           ", for which each rank keeps its whole gradient: set shard to "
           "optimizer");
  }
  if (options.reduce_each && !frees_gradients(options.shard)) {
    refuse("reduce_each with shard = ", name_of(options.shard),
           ", where a rank keeps whole gradients: set shard to gradients");
  }
  if (options.reduce_each && options.wire != DataType::f32) {
    refuse("reduce_each with wire = ", name_of(options.wire),
           ", which would round the sums of each micro-batch again: set wire to f32");
  }
  require_layers(options, parameters);
  if (options.wire == DataType::i8 && comm.topology().hosts() == 1) {
    options.wire = DataType::f32;
    options.error_feedback = false;
  }
  require_sync(options, comm.topology());
  if (comm.topology().hosts() == 1 && options.sync.outer == kLocalSgd) options.sync = {};
  if (!reason.empty() || comm.size() == 1) options.shard = Shard::none;
  if (options.shard == Shard::automatic) options.shard = Shard::host;
  if (options.shard == Shard::host && comm.topology().hosts() == comm.size()) {
    options.shard = Shard::none;
  }
  if (options.shard == Shard::host && comm.topology().hosts() == 1) {
    options.shard = Shard::optimizer;
  }
  require_shares(options.shard_shares, comm.topology(), options.shard == Shard::host);
  const int memories = memory_topology(comm, parameters.device()).hosts();
  if (!divides_among_hosts(options.shard) || memories == 1) options.layers.clear();
  return options;
}

void require_known(const std::vector<std::string>& sparse, const ParameterSet& parameters) {
  for (const std::string& name : sparse) {
    const auto found = std::ranges::find(parameters.trained, name, &Parameter::name);
    if (found == parameters.trained.end() || found->tensor.dim() == 0) {
      refuse("sparse_gradients names ", name, ", which is not a trained parameter with rows");
    }
    if (!found->tensor.is_cpu()) {
      refuse("sparse_gradients names ", name, ", which is on ", found->tensor.device(),
             ", but rows are summed on the CPU only: make its embedding with sparse(false)");
    }
  }
}

void require_agreement(Communicator& comm,
                       const ParameterSet& parameters,
                       const torch::optim::Optimizer& optimizer,
                       const DistributedOptimizerOptions& options) {
  const LossScaling& scaling = options.loss_scaling;
  std::vector<std::string> lines = {
      concat("optimizer ", c10::demangle(typeid(optimizer).name())),
      concat("first_bucket_bytes ", options.first_bucket_bytes),
      concat("bucket_bytes ", options.bucket_bytes),
      concat("nominal_weight ", options.nominal_weight),
      concat("wire ", name_of(options.wire), options.error_feedback ? " with error_feedback" : ""),
      concat("loss_scaling ", scaling.initial, ", growth ", scaling.growth, ", backoff ",
             scaling.backoff, ", interval ", scaling.interval),
      concat("shard ", name_of(options.shard), options.reduce_each ? " with reduce_each" : ""),
      concat("shard_shares ", joined(options.shard_shares, ", ")),
      describe(options.sync),
      steps_of(optimizer, parameters.device()),
  };
  for (const std::vector<std::string>& layer : options.layers) {
    lines.push_back(concat("layer ", joined(layer, ", ")));
  }
  for (const std::string& name : options.sparse_gradients) {
    lines.push_back(concat("sparse_gradients ", name));
  }
  for (const Parameter& buffer : check_buffers(options.buffers)) {
    lines.push_back(concat("buffer ", describe(buffer)));
  }
  std::ranges::copy(describe(parameters, members_of(optimizer)), std::back_inserter(lines));
  require_same_lines(comm, lines, "DistributedOptimizer");
}

void require_plausible(const DistributedOptimizer::State& state, std::size_t parameters) {
  std::vector<std::int64_t> sorted = state.bucket_order;
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (sorted.size() != parameters || sorted[i] != static_cast<std::int64_t>(i)) {
      refuse("the state has a bucket order of ", sorted.size(), " parameters which is none of the ",
             parameters, " here: load it into the same model");
    }
  }
  const bool scales = std::isfinite(state.nominal_weight) && state.nominal_weight >= 0 &&
                      std::isfinite(state.loss_scale) && state.loss_scale > 0;
  if (!scales) {
    refuse("the state has nominal weight ", state.nominal_weight, " and loss scale ",
           state.loss_scale, ", which cannot be");
  }
}

void require_agreement(Communicator& comm, const DistributedOptimizer::State& state) {
  require_same_lines(comm, describe(state), "DistributedOptimizer::load_state");
}

}  // namespace bp
