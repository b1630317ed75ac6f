// Communicator::create(): from the environment to a world that is connected.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "bp/environment.h"
#include "bp/store.h"
#include "comm/backend/gloo_native.h"
#include "comm/base/text.h"
#include "comm/engine/impl.h"
#include "comm/transport/gloo.h"
#include "comm/transport/local_address.h"

namespace bp {
namespace {

using namespace std::chrono_literals;

// What the program asked for wins over the environment, which wins over the default.
void read_variable(const char* variable, const char* unset, std::string& option) {
  const char* const value = std::getenv(variable);
  if (option == unset && value != nullptr && *value != '\0') option = value;
}

}  // namespace

void meet(Store& store, int rank, int size, std::chrono::milliseconds timeout) {
  const auto key_of = [](int r) { return concat("comm/world/here/", r, "."); };
  store.set(key_of(rank), "");
  std::vector<std::string> keys;
  for (int r = 0; r < size; ++r) keys.push_back(key_of(r));
  try {
    store.wait(keys, timeout);
  } catch (const Error& error) {
    if (const auto failed = store.job_failure()) {
      const Error first = error_of(failed->cause, failed->text);
      throw Error(first.code(), concat("rank ", rank, " of ", size,
                                       " stopped waiting for the others: ", first.what()));
    }
    if (error.code() != ErrorCode::timeout) throw;
    std::vector<int> missing;
    for (int r = 0; r < size; ++r) {
      if (!store.find(key_of(r))) missing.push_back(r);
    }
    if (missing.empty()) return;  // the last one came just now
    const Error absent(
        ErrorCode::timeout,
        concat(ranks_text(missing), " of ", size, " did not come within ", timeout.count(),
               " ms (did all hosts start their program, and does each create a "
               "communicator?)"));
    // Or the others would blame the first of us to leave.
    store.fail_job({missing.front(), to_text(absent)});
    throw absent;
  }
}

namespace {

// Whoever fails here says why, so that the others need not guess.
std::unique_ptr<GlooTransport> connect_all(const GlooOptions& options, Store& store) {
  const auto rendezvous = prefix_store(store, "comm/world/gloo/");
  try {
    return std::make_unique<GlooTransport>(options, *rendezvous);
  } catch (const Error& error) {
    if (const auto failed = store.job_failure()) {
      const Error first = error_of(failed->cause, failed->text);
      throw Error(first.code(), concat("rank ", options.rank, " of ", options.size,
                                       " stopped connecting to the others: ", first.what()));
    }
    store.fail_job({options.rank, to_text(error)});
    throw;
  }
}

}  // namespace

Communicator Communicator::create(const CommunicatorOptions& options) {
  CommunicatorOptions chosen = options;
  read_variable("BP_BACKEND", "auto", chosen.backend);
  read_variable("BP_ALGORITHM", "auto", chosen.algorithm);
  read_variable("BP_INTERFACE", "", chosen.interface);
  const bool packaged = chosen.backend == "gloo-native";
  const bool native = packaged || chosen.backend == "gloo-native-batch";
  if (!native && chosen.backend != "auto" && chosen.backend != "gloo") {
    throw Error(ErrorCode::invalid_argument,
                concat("there is no backend '", chosen.backend,
                       "'; there are: auto, gloo, gloo-native, gloo-native-batch"));
  }
  const Environment environment = Environment::current();
  auto backend = make_cpu_backend("gloo", chosen);  // refuses what it does not know, first of all
  if (environment.topology.size() == 1) {
    return make_world(environment.topology, chosen, nullptr, nullptr, nullptr);
  }
  // What can go wrong here alone comes before the others know of us.
  load_gloo_plugin();
  const Deadline start(chosen.start_timeout);
  const ListenOn listen = listen_on(chosen.interface, *environment.store, start);
  StoreClientOptions client;
  client.address = *environment.store;
  client.job = environment.job;
  client.key = environment.key;
  client.rank = environment.topology.rank;
  client.connect_timeout = chosen.start_timeout;
  client.answer_within = std::clamp<std::chrono::milliseconds>(chosen.timeout, 1s, 30s);
  auto store = connect_store(client);
  const int rank = environment.topology.rank;
  const int size = environment.topology.size();
  meet(*store, rank, size, chosen.start_timeout);
  auto transport = connect_all({rank, size, listen, chosen.start_timeout, packaged}, *store);
  if (native) backend = std::make_unique<GlooNativeBackend>(chosen.backend, *transport);
  return make_world(environment.topology, chosen, std::move(store), std::move(transport),
                    std::move(backend));
}

}  // namespace bp
