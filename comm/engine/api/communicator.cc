#include "bp/communicator.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/system/forked.h"
#include "base/text.h"
#include "bp/collective.h"
#include "bp/copy_on_write.h"
#include "bp/log.h"
#include "bp/store.h"
#include "comm/device/device_memory.h"
#include "comm/engine/api/impl.h"

namespace bp {
namespace {

// Returns the channels of the world, which have the same offset in the arena of every rank.
std::vector<PhaseBarrier::Location> channels_of_world(SharedHost& host,
                                                      int local_size,
                                                      std::size_t chunk) {
  const std::size_t offset = host.channels().take(SharedChannel::bytes(chunk));
  BP_CHECK(offset == 0, "the world's channel is the first piece of every arena");
  std::vector<PhaseBarrier::Location> channels;
  for (int local = 0; local < local_size; ++local) {
    channels.push_back({.rank = local, .offset = offset});
  }
  return channels;
}

// Returns the name of each rank's host; nothing if hosts have no names.
std::vector<std::string> hosts_of_ranks(const Topology& topology) {
  std::vector<std::string> hosts;
  for (int rank = 0; rank < topology.size() && !topology.host_names.empty(); ++rank) {
    hosts.push_back(topology.host_name(topology.place_of(rank).host));
  }
  return hosts;
}

// Returns memory of this process with the content of a file, or zeros. A page takes memory once it
// is written. calloc() would write those that the process had before.
std::shared_ptr<std::byte> own_pages(std::size_t bytes, int file = -1, off_t offset = 0) {
  const std::size_t room = bytes + 1;  // mmap() refuses 0
  const int kind = MAP_PRIVATE | (file < 0 ? MAP_ANONYMOUS : 0);
  void* const pages = ::mmap(nullptr, room, PROT_READ | PROT_WRITE, kind, file, offset);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  return {static_cast<std::byte*>(pages), [room](std::byte* data) { ::munmap(data, room); }};
}

}  // namespace

EngineSetup setup_of(const CommunicatorOptions& options, const SelectionTable& measured) {
  EngineSetup setup;
  setup.algorithm = options.algorithm;
  if (setup.algorithm == "auto" && measured.hash() != 0) {
    setup.algorithm = concat("selection ", measured.hash());
  }
  setup.measured = measured;
  setup.timeout = bounded(options.timeout);
  setup.max_in_flight = options.max_in_flight;
  setup.joinable = options.joinable;
  setup.output = options.output;
  return setup;
}

Communicator make_world(Topology topology,
                        CommunicatorOptions options,
                        WorldParts parts,
                        std::chrono::milliseconds stall_after) {
  EngineSetup setup = setup_of(options, parts.measured);
  setup.stall_after = stall_after;
  setup.group = parts.name;
  setup.is_world = true;
  setup.trace = std::move(parts.trace);
  setup.rank = topology.rank;
  for (int rank = 0; rank < topology.size(); ++rank) setup.members.push_back(rank);
  setup.transport_name = parts.transport_name;
  std::unique_ptr<Backend> host = std::move(parts.backend);
  if (!host) {
    BackendParts backend{.topology = topology,
                         .algorithm = options.algorithm,
                         .transport = parts.transport_name,
                         .measured = std::move(parts.measured),
                         .segments = parts.segments,
                         .shared = parts.shared,
                         .shared_chunk = parts.shared_chunk};
    if (parts.shared) {
      backend.channels =
          channels_of_world(*parts.shared, topology.local_size(), parts.shared_chunk);
    }
    host = make_backend(std::move(backend));
  }
  // A rank that has joined takes part with zeros in host memory.
  setup.devices = setup.joinable ? DeviceBackend::staged : parts.devices;
  add_backends(setup.backends, std::move(host), setup.devices,
               {.bytes = options.staging_piece, .algorithm = setup.algorithm});
  if (parts.store) {
    if (parts.launcher_ranks.empty()) parts.launcher_ranks = setup.members;
    setup.job = std::make_shared<Job>(std::move(parts.store), std::move(parts.transport),
                                      std::move(parts.shared), std::move(parts.launcher_ranks),
                                      hosts_of_ranks(topology));
  }
  return Communicator(std::make_unique<Communicator::Impl>(std::move(topology), std::move(options),
                                                           std::move(setup)));
}

Communicator::Communicator(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(Communicator&& other) noexcept {
  if (this != &other) {
    const Communicator previous = std::move(*this);
    impl_ = std::move(other.impl_);
  }
  return *this;
}
Communicator::~Communicator() {
  if (impl_ && !impl_->process().is_here()) keep_undestroyed(std::move(impl_));
}

void Communicator::refuse_moved_from() {
  throw Error(ErrorCode::invalid_argument,
              "another communicator was moved from this one: use that one");
}

int Communicator::rank() const { return impl().topology().rank; }
int Communicator::size() const { return impl().engine().size(); }
const Topology& Communicator::topology() const { return impl().topology(); }
std::string_view Communicator::backend() const {
  return impl().engine().setup().backends.host().name();
}
std::string_view Communicator::algorithm() const { return impl().engine().setup().algorithm; }
Store* Communicator::store() const { return impl().job() ? &impl().job()->store() : nullptr; }
Trace* Communicator::trace() const {
  impl().refuse_in_child("trace");
  return impl().engine().setup().trace.get();
}
Counters Communicator::counters() const {
  impl().refuse_in_child("counters");
  return impl().engine().counters();
}
std::vector<RecordedOperation> Communicator::recent() const {
  impl().refuse_in_child("recent");
  return impl().engine().recent();
}
void Communicator::abort(const std::string& why) {
  impl().refuse_in_child("abort");
  impl().engine().abort(why);
}

void Communicator::finish() {
  impl().refuse_in_child("finish");
  impl().engine().finish();
  if (!impl().job() || !impl().engine().setup().is_world) return;
  impl().job()->leave();
  impl().job()->store().goodbye();
  StoreHost* const host = impl().host();
  if (host != nullptr && !host->wait_until_left(impl().options().timeout)) {
    log(LogLevel::warn, "rank 0 ends, and the job's store with it, while other ranks still run");
  }
}

Communicator Communicator::split(int color) {
  impl().refuse_in_child("split");
  return split_with(*this, color, impl().options());
}

struct Buffer::State {
  State() = default;
  State(State&&) = default;
  State& operator=(State&&) = delete;
  // A forked process would free the memory of the one that uses it.
  ~State() {
    if (keeper && !process.is_here()) keep_undestroyed(std::move(keeper));
  }

  ProcessMark process;
  std::byte* data = nullptr;
  std::size_t size = 0;
  Device device;
  std::shared_ptr<std::byte> keeper;  // frees the memory at its end
};

Buffer::Buffer() = default;
Buffer::Buffer(std::shared_ptr<State> state) : state_(std::move(state)) {}
Buffer::Buffer(Buffer&&) noexcept = default;
Buffer& Buffer::operator=(Buffer&&) noexcept = default;
Buffer::~Buffer() = default;
std::byte* Buffer::data() const { return state_ ? state_->data : nullptr; }
std::size_t Buffer::bytes() const { return state_ ? state_->size : 0; }
Device Buffer::device() const { return state_ ? state_->device : Device{}; }

Buffer Communicator::allocate(std::size_t bytes, Device device) {
  impl().refuse_in_child("allocate");
  Buffer::State state;
  state.size = bytes;
  state.device = device;
  const bool on_host = device.kind == Device::Kind::host;
  if (const auto shared = on_host && impl().job() ? impl().job()->shared() : nullptr) {
    state.keeper = bp::allocate_shared(shared, bytes);
    state.data = state.keeper.get();
  } else if (on_host) {
    state.keeper = own_pages(bytes);
    state.data = state.keeper.get();
  } else {
    const Memory& memory = memory_of(device);
    Backend* const backend = impl().engine().setup().backends.find(device.kind);
    state.keeper = backend == nullptr ? memory.allocate(bytes) : backend->allocate(bytes, device);
    state.data = state.keeper.get();
    memory.fill(state.data, std::byte{0}, bytes);
  }
  return Buffer(std::make_shared<Buffer::State>(std::move(state)));
}

// Rank 0 has the memory in its arena. The last rank to leave it frees it (ChannelPool).
Buffer Communicator::allocate_shared(std::size_t bytes) {
  if (size() == 1) return allocate(bytes);
  impl().refuse_in_child("allocate_shared");
  const std::shared_ptr<SharedHost> host = impl().job()->shared();
  if (!host || topology().hosts() > 1) {
    throw Error(ErrorCode::unavailable,
                concat("allocate_shared: not all ", size(), " ranks share the memory of one host"));
  }
  const std::size_t room = ChannelPool::kHead + bytes;
  std::string refusal;
  std::int64_t offset = -1;
  if (rank() == 0) {
    try {
      offset = static_cast<std::int64_t>(host->channels().take(room));
    } catch (const Error& error) {  // the others wait for the offset
      refusal = error.what();
    }
  }
  broadcast(*this, view(std::span(&offset, 1)), {.name = "shared memory"});
  if (offset < 0) {
    throw Error(ErrorCode::io, concat("allocate_shared: rank 0 has no shared memory of ", bytes,
                                      " bytes left", refusal.empty() ? "" : ": ", refusal));
  }
  const auto begin = static_cast<std::size_t>(offset);
  std::byte* const channel = host->at(impl().engine().setup().members[0] - host->first(), begin);
  const std::size_t ranks = rank() == 0 ? static_cast<std::size_t>(size()) : 0;
  Buffer::State state;
  state.size = bytes;
  state.data = channel + ChannelPool::kHead;
  state.keeper = {state.data, [=](std::byte*) {
                    ChannelPool::leave(channel);
                    if (ranks > 0) host->channels().give_back(begin, room, ranks);
                  }};
  return Buffer(std::make_shared<Buffer::State>(std::move(state)));
}

std::shared_ptr<std::byte> copy_on_write(Communicator& comm, std::span<std::byte> shared) {
  const SharedMemory& memory = comm.impl().job()->shared()->memory();
  const std::ptrdiff_t offset = shared.data() - memory.bytes().data();
  const std::ptrdiff_t in_page = offset % ::sysconf(_SC_PAGESIZE);
  const auto pages = own_pages(shared.size() + static_cast<std::size_t>(in_page),
                               memory.file().get(), offset - in_page);
  return {pages, pages.get() + in_page};
}

}  // namespace bp
