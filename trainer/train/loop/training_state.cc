#include "trainer/train/loop/training_state.h"

#include <ATen/core/Tensor.h>
#include <torch/optim/optimizer.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/input_error.h"
#include "base/text.h"
#include "bp/torch/elementwise.h"
#include "bp/types.h"
#include "comm/torch/divisible.h"
#include "trainer/optim/optimizer.h"
#include "trainer/train/methods/averaged_weights.h"

namespace bp::trainer {

TrainingState training_state(const RunSettings& settings, const Bert& model) {
  const std::vector<std::string> sparse = model.sparse_gradients();
  const auto optimizer = make_optimizer(model.parameters(), settings);
  const bool divides_rows = dynamic_cast<const RowSharing*>(optimizer.get()) != nullptr;
  TrainingState state{.moments = moment_names(settings).size(),
                      .averages = RunAverages(settings).are_made(),
                      .wire = size_of(settings.wire),
                      .error_feedback = settings.error_feedback,
                      .micro_batches = settings.accumulate.most(),
                      .reduce_each = settings.reduce_each};
  const std::vector<std::vector<std::string>> layers = model.layers();
  state.layers = static_cast<int>(layers.size());
  for (const auto& [name, parameter] : model.parameters()) {
    const bool is_sparse = std::ranges::count(sparse, name) > 0;
    std::uint64_t& bytes = !parameter.requires_grad() ? state.frozen
                           : !is_sparse               ? state.dense
                           : divides_rows             ? state.rows
                                                      : state.undivided;
    bytes += parameter.nbytes();
    const bool is_in_layer =
        std::ranges::any_of(layers, [&name = name](const std::vector<std::string>& names) {
          return std::ranges::count(names, name) > 0;
        });
    if (&bytes == &state.dense && is_in_layer) state.in_layers += parameter.nbytes();
  }
  return state;
}

Shard possible_shard(const Communicator& world, const RunSettings& settings, const Bert& model) {
  const std::string reason =
      reason_against_shards(world, model.parameters().front().second.device(),
                            *make_optimizer(model.parameters(), settings), settings.shard);
  if (settings.shard != Shard::automatic && !reason.empty()) {
    throw InputError(2, concat("--shard ", name_of(settings.shard), ", but ", reason),
                     "say --shard none, or leave the option out");
  }
  return settings.shard;
}

bool saves_in_pieces(const RunSettings& settings, const Topology& topology, const Bert& model) {
  const bool is_divided = settings.shard == Shard::optimizer && topology.hosts() > 1;
  return frees_gradients(settings.shard) ||
         (is_divided && model.parameters().front().second.is_cpu());
}

}  // namespace bp::trainer
