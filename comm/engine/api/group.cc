// Communicator::split(): a group that uses its parent's job.
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "base/text.h"
#include "bp/collective.h"
#include "comm/engine/api/impl.h"

namespace bp {
namespace {

constexpr std::size_t kChannelBytes = SharedChannel::bytes(SharedChannel::kChunk);

// The ranks that have passed the same color, and where each shares memory with the group.
struct Members {
  std::vector<int> ranks;  // in the parent
  std::vector<std::size_t> channels;
};

// Collective.
Members gather_members(Communicator& comm, int color, SharedHost* shared) {
  const std::array<std::int64_t, 2> own{
      color,
      shared == nullptr ? 0 : static_cast<std::int64_t>(shared->channels().take(kChannelBytes))};
  std::vector<std::int64_t> all(own.size() * static_cast<std::size_t>(comm.size()));
  all_gather(comm, const_view(std::span(own)), view(all), {.name = "split"});
  Members members;
  for (int rank = 0; rank < comm.size(); ++rank) {
    const std::size_t at = own.size() * static_cast<std::size_t>(rank);
    if (all[at] != color) continue;
    members.ranks.push_back(rank);
    members.channels.push_back(static_cast<std::size_t>(all[at + 1]));
  }
  return members;
}

}  // namespace

Topology topology_of_group(const Topology& parent, const std::vector<int>& members) {
  Topology group;
  group.local_sizes.clear();
  int last_host = -1;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const int host = parent.place_of(members[i]).host;
    if (host != last_host) {
      group.local_sizes.push_back(0);
      if (!parent.host_names.empty()) group.host_names.push_back(parent.host_name(host));
      last_host = host;
    }
    ++group.local_sizes.back();
    if (members[i] == parent.rank) group.rank = static_cast<int>(i);
  }
  return group;
}

Communicator split_with(Communicator& comm, int color, CommunicatorOptions options) {
  const EngineSetup& parent = comm.impl().engine().setup();
  const std::shared_ptr<SharedHost> shared = parent.job ? parent.job->shared() : nullptr;
  const Members members = gather_members(comm, color, shared.get());
  const Topology topology = topology_of_group(comm.topology(), members.ranks);
  if (!can_run(options.algorithm, topology.local_sizes)) options.algorithm = "auto";

  EngineSetup setup = setup_of(options, parent.measured);
  setup.stall_after = parent.stall_after;
  setup.trace = parent.trace;
  setup.arithmetic = parent.arithmetic;
  setup.transport_name = parent.transport_name;
  setup.rank = topology.rank;
  for (const int rank : members.ranks) {
    setup.members.push_back(parent.members[static_cast<std::size_t>(rank)]);
  }
  // The name is the same on all members and on no other rank, because the split has a number.
  setup.group = concat(parent.group, ".", comm.impl().engine().sequence(), ".", color);
  BackendParts parts{.topology = topology,
                     .algorithm = options.algorithm,
                     .transport = parent.transport_name,
                     .measured = parent.measured,
                     .shared = shared};
  for (int local = 0; shared && local < topology.local_size(); ++local) {
    const int rank = topology.leader_of(topology.host()) + local;
    const auto member = static_cast<std::size_t>(rank);
    parts.channels.push_back(
        {.rank = setup.members[member] - shared->first(), .offset = members.channels[member]});
  }
  if (shared && topology.local_size() == 1) {  // no rank uses the channel
    shared->channels().give_back(parts.channels.front().offset, kChannelBytes, 0);
  }
  if (topology.size() > 1) setup.job = parent.job;
  setup.devices = parent.devices;
  add_backends(setup.backends, make_backend(std::move(parts)), setup.devices,
               {.bytes = options.staging_piece, .algorithm = setup.algorithm});
  return Communicator(
      std::make_unique<Communicator::Impl>(topology, std::move(options), std::move(setup)));
}

}  // namespace bp
