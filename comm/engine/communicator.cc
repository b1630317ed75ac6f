#include "bp/communicator.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <new>
#include <utility>

#include "bp/collective.h"
#include "bp/store.h"
#include "comm/base/check.h"
#include "comm/base/text.h"
#include "comm/engine/impl.h"

namespace bp {
namespace {

constexpr std::size_t kBufferAlignment = 64;  // a cache line, and the widest vector

EngineSetup setup_of(const CommunicatorOptions& options) {
  EngineSetup setup;
  setup.algorithm = options.algorithm;
  setup.timeout = options.timeout;
  setup.max_in_flight = options.max_in_flight;
  setup.joinable = options.joinable;
  return setup;
}

// What lies below a backend that may go by another name.
std::string transport_name(std::string_view backend) {
  return std::string(backend.starts_with("gloo") ? "gloo" : backend);
}

// The part of `parent` that holds `members` (its ranks, ascending).
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

// The same place in the arena of every rank of this host.
std::vector<Board::Place> channels_of_world(SharedHost& host, int local_size, std::size_t chunk) {
  const std::size_t offset = host.own().allocate(SharedChannel::bytes(chunk));
  BP_CHECK(offset == 0, "the world's channel is the first piece of every arena");
  std::vector<Board::Place> channels;
  for (int local = 0; local < local_size; ++local) channels.push_back({local, offset});
  return channels;
}

}  // namespace

Communicator make_world(Topology topology,
                        CommunicatorOptions options,
                        WorldParts parts,
                        std::chrono::milliseconds stall_after) {
  EngineSetup setup = setup_of(options);
  setup.stall_after = stall_after;
  setup.group = "world";
  setup.rank = topology.rank;
  for (int rank = 0; rank < topology.size(); ++rank) setup.members.push_back(rank);
  setup.backend = std::move(parts.backend);
  if (!setup.backend) {
    BackendParts backend{.topology = topology,
                         .algorithm = options.algorithm,
                         .transport = parts.transport_name,
                         .segments = parts.segments,
                         .shared = parts.shared,
                         .shared_chunk = parts.shared_chunk};
    if (parts.shared) {
      backend.channels =
          channels_of_world(*parts.shared, topology.local_size(), parts.shared_chunk);
    }
    setup.backend = make_backend(std::move(backend));
  }
  if (topology.size() > 1) {
    setup.job = std::make_shared<Job>(std::move(parts.store), std::move(parts.transport),
                                      std::move(parts.shared));
  }
  return Communicator(std::make_unique<Communicator::Impl>(std::move(topology), std::move(options),
                                                           std::move(setup)));
}

Communicator::Communicator(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(Communicator&&) noexcept = default;
Communicator::~Communicator() = default;

int Communicator::rank() const { return impl_->topology().rank; }
int Communicator::size() const { return impl_->engine().size(); }
const Topology& Communicator::topology() const { return impl_->topology(); }
std::string_view Communicator::backend() const { return impl_->engine().setup().backend->name(); }
Store* Communicator::store() const { return impl_->job() ? &impl_->job()->store() : nullptr; }
Counters Communicator::counters() const { return impl_->engine().counters(); }
void Communicator::abort(const std::string& why) { impl_->engine().abort(why); }

void Communicator::finish() {
  impl_->engine().finish();
  if (impl_->job() && impl_->engine().setup().group == "world") impl_->job()->store().goodbye();
}

Communicator Communicator::split(int color) {
  const EngineSetup& own = impl_->engine().setup();
  // Where each rank shares memory with the group. It stays until the job ends: a slower rank may
  // still look there when this one has left the group.
  const std::shared_ptr<SharedHost> shared = impl_->job() ? impl_->job()->shared() : nullptr;
  std::vector<std::int64_t> choices(2 * static_cast<std::size_t>(size()));
  const std::array<std::int64_t, 2> own_choice{
      color, shared ? static_cast<std::int64_t>(
                          shared->own().allocate(SharedChannel::bytes(SharedChannel::kChunk)))
                    : 0};
  all_gather(*this, const_view(std::span(own_choice)), view(choices), {.name = "split"});
  std::vector<int> members;  // ranks here
  std::vector<std::size_t> channels;
  CommunicatorOptions options = impl_->options();
  EngineSetup setup = setup_of(options);
  setup.stall_after = own.stall_after;
  for (int rank = 0; rank < size(); ++rank) {
    const std::size_t at = 2 * static_cast<std::size_t>(rank);
    if (choices[at] != color) continue;
    if (rank == own.rank) setup.rank = static_cast<int>(members.size());
    members.push_back(rank);
    setup.members.push_back(own.members[static_cast<std::size_t>(rank)]);
    channels.push_back(static_cast<std::size_t>(choices[at + 1]));
  }
  // The same on all its members and on nobody else: the split is a collective with a number.
  setup.group = concat(own.group, ".", impl_->engine().sequence(), ".", color);
  BackendParts parts{.topology = topology_of_group(impl_->topology(), members),
                     .algorithm = options.algorithm,
                     .transport = transport_name(own.backend->name()),
                     .shared = shared};
  const Topology& group = parts.topology;
  if (!can_run(options.algorithm, group.local_sizes)) {
    parts.algorithm = options.algorithm = setup.algorithm = "auto";
  }
  for (int local = 0; shared && local < group.local_size(); ++local) {
    const auto member = static_cast<std::size_t>(group.leader_of(group.host()) + local);
    parts.channels.push_back({setup.members[member] - shared->first(), channels[member]});
  }
  if (members.size() > 1) setup.job = own.job;
  Topology topology = group;
  setup.backend = make_backend(std::move(parts));
  return Communicator(
      std::make_unique<Impl>(std::move(topology), std::move(options), std::move(setup)));
}

struct Buffer::State {
  std::byte* data = nullptr;
  std::size_t size = 0;
  std::shared_ptr<void> keeper;  // whose end frees it
};

Buffer::Buffer() = default;
Buffer::Buffer(std::shared_ptr<State> state) : state_(std::move(state)) {}
Buffer::Buffer(Buffer&&) noexcept = default;
Buffer& Buffer::operator=(Buffer&&) noexcept = default;
Buffer::~Buffer() = default;
std::byte* Buffer::data() const { return state_ ? state_->data : nullptr; }
std::size_t Buffer::bytes() const { return state_ ? state_->size : 0; }

Buffer Communicator::allocate(std::size_t bytes) {
  Buffer::State state;
  state.size = bytes;
  if (const auto shared = impl_->job() ? impl_->job()->shared() : nullptr) {
    const std::size_t offset = shared->own().allocate(bytes);
    state.data = shared->own().at(offset);
    state.keeper = std::shared_ptr<void>(
        state.data, [shared, offset](void*) { shared->own().release(offset); });
  } else {
    const auto size = std::max(bytes, std::size_t{1});
    state.data = static_cast<std::byte*>(::operator new (size, std::align_val_t{kBufferAlignment}));
    std::fill_n(state.data, size, std::byte{0});
    state.keeper = std::shared_ptr<void>(state.data, [](void* data) {
      ::operator delete (data, std::align_val_t{kBufferAlignment});
    });
  }
  return Buffer(std::make_shared<Buffer::State>(std::move(state)));
}

}  // namespace bp
