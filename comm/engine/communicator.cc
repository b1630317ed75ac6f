#include "bp/communicator.h"

#include <algorithm>
#include <new>
#include <utility>

#include "bp/collective.h"
#include "bp/store.h"
#include "comm/backend/self.h"
#include "comm/base/text.h"
#include "comm/engine/impl.h"

namespace bp {
namespace {

constexpr std::size_t kBufferAlignment = 64;  // a cache line, and the widest vector

EngineSetup setup_of(const CommunicatorOptions& options) {
  EngineSetup setup;
  setup.algorithm = options.algorithm;
  setup.timeout = options.timeout;
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

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(const std::string& name,
                                          const CommunicatorOptions& options,
                                          const SegmentLimits& limits) {
  return std::make_unique<CpuBackend>(name, parse_algorithm(options.algorithm), limits);
}

Communicator make_world(Topology topology,
                        CommunicatorOptions options,
                        std::unique_ptr<Store> store,
                        std::unique_ptr<Transport> transport,
                        std::unique_ptr<Backend> backend,
                        std::chrono::milliseconds stall_after) {
  EngineSetup setup = setup_of(options);
  setup.stall_after = stall_after;
  setup.group = "world";
  setup.rank = topology.rank;
  for (int rank = 0; rank < topology.size(); ++rank) setup.members.push_back(rank);
  if (topology.size() > 1) {
    setup.backend = std::move(backend);
    setup.job = std::make_shared<Job>(std::move(store), std::move(transport));
  } else {
    setup.backend = std::make_unique<SelfBackend>();
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
  std::vector<int> colors(static_cast<std::size_t>(size()));
  all_gather(*this, const_view(std::span(&color, 1)), view(colors), {.name = "split"});
  std::vector<int> members;  // ranks here
  EngineSetup setup = setup_of(impl_->options());
  setup.stall_after = own.stall_after;
  for (int rank = 0; rank < size(); ++rank) {
    if (colors[static_cast<std::size_t>(rank)] != color) continue;
    if (rank == own.rank) setup.rank = static_cast<int>(members.size());
    members.push_back(rank);
    setup.members.push_back(own.members[static_cast<std::size_t>(rank)]);
  }
  // The same on all its members and on nobody else: the split is a collective with a number.
  setup.group = concat(own.group, ".", impl_->engine().sequence(), ".", color);
  if (members.size() > 1) {
    setup.job = own.job;
    setup.backend = make_cpu_backend(transport_name(own.backend->name()), impl_->options());
  } else {
    setup.backend = std::make_unique<SelfBackend>();
  }
  return Communicator(std::make_unique<Impl>(topology_of_group(impl_->topology(), members),
                                             impl_->options(), std::move(setup)));
}

struct Buffer::State {
  explicit State(std::size_t bytes)
      : data(static_cast<std::byte*>(
            ::operator new (std::max(bytes, std::size_t{1}), std::align_val_t{kBufferAlignment}))),
        size(bytes) {
    std::fill_n(data, size, std::byte{0});
  }
  ~State() { ::operator delete (data, std::align_val_t{kBufferAlignment}); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  std::byte* const data;
  const std::size_t size;
};

Buffer::Buffer() = default;
Buffer::Buffer(std::shared_ptr<State> state) : state_(std::move(state)) {}
Buffer::Buffer(Buffer&&) noexcept = default;
Buffer& Buffer::operator=(Buffer&&) noexcept = default;
Buffer::~Buffer() = default;
std::byte* Buffer::data() const { return state_ ? state_->data : nullptr; }
std::size_t Buffer::bytes() const { return state_ ? state_->size : 0; }

Buffer Communicator::allocate(std::size_t bytes) {
  return Buffer(std::make_shared<Buffer::State>(bytes));
}

}  // namespace bp
