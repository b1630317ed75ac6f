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
#include "comm/engine/trace_file.h"
#include "comm/shared/meet.h"
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

// Whoever fails in `connecting` says why, so that the others need not guess.
template <class Connecting>
auto tell_failure(const Topology& topology, Store& store, const Connecting& connecting) {
  try {
    return connecting();
  } catch (const Error& error) {
    if (const auto failed = store.job_failure()) {
      const Error first = error_of(failed->cause, failed->text);
      throw Error(first.code(), concat("rank ", topology.rank, " of ", topology.size(),
                                       " stopped connecting to the others: ", first.what()));
    }
    store.fail_job({topology.rank, to_text(error)});
    throw;
  }
}

void check_algorithm(const CommunicatorOptions& options, const Topology& topology) {
  (void)parse_algorithm(options.algorithm, topology.local_sizes);
  if (options.algorithm == "auto" || options.backend == "auto" || options.backend == "gloo") return;
  throw Error(ErrorCode::invalid_argument,
              concat("the backend ", options.backend, " has no algorithm '", options.algorithm,
                     "': it ", options.backend == "shm" ? "sends no messages" : "uses Gloo's own",
                     "; possible here: auto"));
}

// Null where ranks of one host share no memory.
std::shared_ptr<SharedHost> share_memory(const Environment& environment,
                                         const CommunicatorOptions& options,
                                         Store& store) {
  const bool asked = options.backend == "shm";
  const bool inside = options.algorithm == "hierarchical";
  const Topology& topology = environment.topology;
  if (asked && topology.hosts() > 1) {
    throw Error(ErrorCode::unavailable,
                concat("the backend shm is for ranks of one host; this job has ", topology.hosts(),
                       " hosts (auto chooses what fits)"));
  }
  // Who asks for an algorithm asks for messages, or to have them between hosts only.
  if (!asked && (options.backend != "auto" || (options.algorithm != "auto" && !inside))) {
    return nullptr;
  }
  if (std::ranges::max(topology.local_sizes) == 1) return nullptr;
  return meet_on_host({.rank = topology.rank,
                       .first = topology.leader_of(topology.host()),
                       .count = topology.local_size(),
                       .key = environment.key,
                       .timeout = options.start_timeout},
                      store);
}

}  // namespace

Communicator Communicator::create(const CommunicatorOptions& options) {
  CommunicatorOptions chosen = options;
  read_variable("BP_BACKEND", "auto", chosen.backend);
  read_variable("BP_ALGORITHM", "auto", chosen.algorithm);
  read_variable("BP_INTERFACE", "", chosen.interface);
  read_variable("BP_SELECTION", "", chosen.selection);
  read_variable("BP_OUTPUT", "", chosen.output);
  read_variable("BP_TRACE", "", chosen.trace);
  const bool packaged = chosen.backend == "gloo-native";
  const bool native = packaged || chosen.backend == "gloo-native-batch";
  if (!native && chosen.backend != "auto" && chosen.backend != "gloo" && chosen.backend != "shm") {
    throw Error(ErrorCode::invalid_argument,
                concat("there is no backend '", chosen.backend,
                       "'; there are: auto, shm, gloo, gloo-native, gloo-native-batch"));
  }
  const Environment environment = Environment::current();
  check_algorithm(chosen, environment.topology);
  auto measured =
      chosen.selection.empty() ? SelectionTable() : SelectionTable::read(chosen.selection);
  std::shared_ptr<TraceFile> trace;
  if (!chosen.trace.empty()) {
    trace = std::make_shared<TraceFile>(chosen.trace, environment.topology);
  }
  if (environment.topology.size() == 1) {
    if (trace) trace->start({});
    return make_world(environment.topology, chosen, {.trace = std::move(trace)});
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
  const auto rendezvous = prefix_store(*store, "comm/world/gloo/");
  auto transport = tell_failure(environment.topology, *store, [&] {
    const GlooOptions gloo{rank, size, listen, chosen.start_timeout, packaged};
    return std::make_unique<GlooTransport>(gloo, *rendezvous);
  });
  std::unique_ptr<Backend> backend;
  if (native) backend = std::make_unique<GlooNativeBackend>(chosen.backend, *transport);
  auto shared = tell_failure(environment.topology, *store,
                             [&] { return share_memory(environment, chosen, *store); });
  Communicator world = make_world(environment.topology, chosen,
                                  {.store = std::move(store),
                                   .transport = std::move(transport),
                                   .transport_name = "gloo",
                                   .backend = std::move(backend),
                                   .shared = std::move(shared),
                                   .measured = std::move(measured),
                                   .trace = trace});
  if (trace) trace->start(measure_clock_offset(world));
  return world;
}

}  // namespace bp
