// How much of the training state each rank owns, as --shard-shares says.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bp/communicator.h"
#include "bp/torch/shard.h"
#include "trainer/report/shard_costs.h"

namespace bp::trainer {

// Returns the bytes that a host has left for what all hosts divide, once its ranks keep what each
// host has. `free`: without any of the training state.
[[nodiscard]] std::uint64_t room_for_shards(std::uint64_t free,
                                            TrainingState state,
                                            int ranks,
                                            Shard shard);

// Collective. Returns the shares for DistributedOptimizerOptions: the ranks of a host have equal
// ones. `asked`: "equal"; "auto" for the room of each host; or the shares of all hosts. Throws
// InputError.
[[nodiscard]] std::vector<double> shard_shares(Communicator& world,
                                               const std::string& asked,
                                               Shard shard,
                                               const TrainingState& state);

}  // namespace bp::trainer
