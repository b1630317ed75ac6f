#include "tests/support/run_ranks.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <thread>
#include <utility>

#include "comm/engine/api/impl.h"
#include "comm/transport/gloo.h"
#include "comm/transport/inproc.h"
#include "tests/support/counted_ranks.h"
#include "tests/support/memory_store.h"

namespace bp::test {
namespace {

// Must not outlive `on_send`.
class CountingTransport final : public Transport {
 public:
  CountingTransport(std::unique_ptr<Transport> inner, const OnSend& on_send)
      : inner_(std::move(inner)), on_send_(on_send) {}

  [[nodiscard]] int rank() const override { return inner_->rank(); }
  [[nodiscard]] int size() const override { return inner_->size(); }
  [[nodiscard]] std::unique_ptr<Transfer> post_receive(int peer,
                                                       std::uint64_t slot,
                                                       std::span<std::byte> into) override {
    return inner_->post_receive(peer, slot, into);
  }
  [[nodiscard]] std::unique_ptr<Transfer> post_receive_at_most(int peer,
                                                               std::uint64_t slot,
                                                               std::span<std::byte> into) override {
    return inner_->post_receive_at_most(peer, slot, into);
  }
  [[nodiscard]] std::unique_ptr<Transfer> post_send(int peer,
                                                    std::uint64_t slot,
                                                    std::span<const std::byte> from) override {
    on_send_(rank(), peer, from.size());
    return inner_->post_send(peer, slot, from);
  }
  [[nodiscard]] std::optional<Undelivered> deliver(const Deadline& deadline,
                                                   const std::atomic<bool>& stop) override {
    return inner_->deliver(deadline, stop);
  }
  [[nodiscard]] std::optional<LinkState> look(int peer) override { return inner_->look(peer); }
  [[nodiscard]] int connections() const override { return inner_->connections(); }
  void wake() override { inner_->wake(); }

 private:
  const std::unique_ptr<Transport> inner_;
  const OnSend& on_send_;
};

Communicator join(InprocHub& hub,
                  MemoryStoreServer& server,
                  const Topology& topology,
                  std::shared_ptr<SharedHost> shared,
                  const RanksOptions& options,
                  const OnSend& on_send) {
  auto store = server.connect(topology.rank);
  std::unique_ptr<Transport> transport;
  std::unique_ptr<Backend> native;
  if (options.wire == Wire::gloo) {
    auto gloo =
        std::make_unique<GlooTransport>(GlooOptions{.rank = topology.rank,
                                                    .size = topology.size(),
                                                    .listen = {"", "127.0.0.1"},
                                                    .timeout = options.communicator.timeout},
                                        *store);
    native = make_chosen_backend(find_backend(options.communicator.backend), *gloo);
    transport = std::move(gloo);
  } else {
    transport = hub.join(topology.rank);
  }
  if (options.fault) transport = make_faulty(std::move(transport), options.fault(topology.rank));
  if (on_send) transport = std::make_unique<CountingTransport>(std::move(transport), on_send);
  WorldParts parts{.store = std::move(store),
                   .transport = std::move(transport),
                   .transport_name = "test",
                   .backend = std::move(native),
                   .devices = options.devices,
                   .shared = std::move(shared),
                   .measured = options.measured,
                   .segments = options.segments,
                   .shared_chunk = options.shared_chunk};
  return make_world(topology, options.communicator, std::move(parts), options.stall_after);
}

// Connects the shared memory of ranks that are threads. All of them use the same mapping, so that
// ThreadSanitizer sees their accesses.
std::vector<std::shared_ptr<SharedHost>> share_memory(int ranks, int first, bool open) {
  const auto memory = std::make_shared<SharedMemory>(
      SharedMemory::create("bp test", static_cast<std::size_t>(ranks) * arena_bytes(ranks)));
  std::vector<std::shared_ptr<SharedHost>> hosts;
  for (int rank = 0; rank < ranks; ++rank) {
    hosts.push_back(std::make_shared<SharedHost>(SharedHost::Parts{
        .memory = memory,
        .rank = rank,
        .first = first,
        .presence = Presence(*memory, rank),
        .processes = std::vector(static_cast<std::size_t>(ranks), ProcessMemory(::getpid())),
        .open = open}));
  }
  return hosts;
}

std::vector<std::string> try_counted_ranks(int ranks,
                                           const std::function<void(Communicator&)>& body,
                                           const RanksOptions& options,
                                           const OnSend& on_send) {
  InprocHub hub(ranks);
  MemoryStoreServer server;
  const auto local_sizes =
      options.local_sizes.empty() ? std::vector<int>{ranks} : options.local_sizes;
  std::vector<std::shared_ptr<SharedHost>> shared(static_cast<std::size_t>(ranks));
  int first = 0;  // first rank of a host
  for (const int local_size : local_sizes) {
    if (options.wire != Wire::shm) break;
    std::ranges::move(share_memory(local_size, first, options.open_memory), shared.begin() + first);
    first += local_size;
  }
  std::vector<std::string> errors(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      std::string& error = errors[static_cast<std::size_t>(rank)];
      try {
        Topology topology;
        topology.rank = rank;
        topology.local_sizes = local_sizes;
        auto memory = std::move(shared[static_cast<std::size_t>(rank)]);
        Communicator world = join(hub, server, topology, std::move(memory), options, on_send);
        body(world);
        world.finish();
      } catch (const Error& caught) {
        error = to_text(caught);
      } catch (const std::exception& caught) {
        error = caught.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

}  // namespace

std::vector<std::string> try_ranks(int ranks,
                                   const std::function<void(Communicator&)>& body,
                                   const RanksOptions& options) {
  return try_counted_ranks(ranks, body, options, {});
}

std::vector<std::string> try_agreeing_ranks(int ranks,
                                            const std::function<void(Communicator&)>& body,
                                            const RanksOptions& options) {
  std::vector<std::string> thrown(static_cast<std::size_t>(ranks));
  const auto finish_all = [&](Communicator& world) {
    try {
      body(world);
    } catch (const Error&) {
      throw;
    } catch (const std::exception& caught) {
      thrown[static_cast<std::size_t>(world.rank())] = caught.what();
    }
  };
  const auto errors = try_ranks(ranks, finish_all, options);
  for (std::size_t rank = 0; rank < thrown.size(); ++rank) {
    if (!errors[rank].empty()) thrown[rank] = errors[rank];
  }
  return thrown;
}

void run_ranks(int ranks,
               const std::function<void(Communicator&)>& body,
               const RanksOptions& options) {
  run_counted_ranks(ranks, body, options, {});
}

void run_counted_ranks(int ranks,
                       const std::function<void(Communicator&)>& body,
                       const RanksOptions& options,
                       const OnSend& on_send) {
  const auto errors = try_counted_ranks(ranks, body, options, on_send);
  for (int rank = 0; rank < ranks; ++rank) {
    EXPECT_EQ(errors[static_cast<std::size_t>(rank)], "") << "rank " << rank;
  }
}

}  // namespace bp::test
