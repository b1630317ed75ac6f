#include "tests/support/run_ranks.h"

#include <gtest/gtest.h>

#include <thread>

#include "comm/backend/gloo_native.h"
#include "comm/engine/impl.h"
#include "comm/transport/gloo.h"
#include "comm/transport/inproc.h"
#include "tests/support/memory_store.h"

namespace bp::test {
namespace {

Communicator join(InprocHub& hub,
                  MemoryStoreServer& server,
                  const Topology& topology,
                  const RanksOptions& options) {
  auto store = server.connect(topology.rank);
  const std::string& backend = options.communicator.backend;
  std::unique_ptr<Transport> transport;
  std::unique_ptr<Backend> native;
  if (options.wire == Wire::gloo) {
    auto gloo = std::make_unique<GlooTransport>(
        GlooOptions{
            topology.rank, topology.size(), {"", "127.0.0.1"}, options.communicator.timeout},
        *store);
    if (backend == "gloo-native") native = std::make_unique<GlooNativeBackend>(backend, *gloo);
    transport = std::move(gloo);
  } else {
    transport = hub.join(topology.rank);
  }
  if (options.fault) transport = make_faulty(std::move(transport), options.fault(topology.rank));
  auto ours = make_cpu_backend("test", options.communicator, options.segments);
  return make_world(topology, options.communicator, std::move(store), std::move(transport),
                    native ? std::move(native) : std::move(ours), options.stall_after);
}

}  // namespace

std::vector<std::string> try_ranks(int ranks,
                                   const std::function<void(Communicator&)>& body,
                                   const RanksOptions& options) {
  InprocHub hub(ranks);
  MemoryStoreServer server;
  std::vector<std::string> errors(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      std::string& error = errors[static_cast<std::size_t>(rank)];
      try {
        Topology topology;
        topology.rank = rank;
        topology.local_sizes =
            options.local_sizes.empty() ? std::vector<int>{ranks} : options.local_sizes;
        Communicator world = join(hub, server, topology, options);
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

void run_ranks(int ranks,
               const std::function<void(Communicator&)>& body,
               const RanksOptions& options) {
  const auto errors = try_ranks(ranks, body, options);
  for (int rank = 0; rank < ranks; ++rank) {
    EXPECT_EQ(errors[static_cast<std::size_t>(rank)], "") << "rank " << rank;
  }
}

}  // namespace bp::test
