// Communicator::create(): reads the environment and connects a world.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/log_writer.h"
#include "base/system/process_limit.h"
#include "base/text.h"
#include "bp/environment.h"
#include "bp/store.h"
#include "comm/backend/common/registry.h"
#include "comm/engine/api/connect_world.h"
#include "comm/engine/api/impl.h"
#include "comm/engine/observe/trace_file.h"
#include "comm/rendezvous/launched_job.h"
#include "comm/transport/gloo.h"

namespace bp {
namespace {

using namespace std::chrono_literals;

void read_variable(const char* variable, const char* unset, std::string& option) {
  const char* const value = std::getenv(variable);
  if (option == unset && value != nullptr && *value != '\0') option = value;
}

// "65536", "64K", "4M"
void read_bytes(const char* variable, std::size_t& option) {
  const char* const text = std::getenv(variable);
  if (option != 0 || text == nullptr || *text == '\0') return;
  const std::string_view all(text);
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(all.begin(), all.end(), number);
  const std::string_view unit(end, all.end());
  const int shift = unit.empty() ? 0 : unit == "K" ? 10 : unit == "M" ? 20 : -1;
  constexpr std::size_t kMost = std::size_t{1} << 40;
  if (error != std::errc() || shift < 0 || number > (kMost >> shift)) {
    throw Error(ErrorCode::invalid_argument,
                concat(variable, " is '", text, "'; give a number of bytes, such as 4M"));
  }
  option = number << shift;
}

// The program's choice wins over the environment, and that wins over the default.
CommunicatorOptions with_variables(CommunicatorOptions options) {
  check_log_variable();
  read_variable("BP_BACKEND", "auto", options.backend);
  read_variable("BP_ALGORITHM", "auto", options.algorithm);
  read_variable("BP_INTERFACE", "", options.interface);
  read_variable("BP_SELECTION", "", options.selection);
  read_variable("BP_OUTPUT", "", options.output);
  read_variable("BP_TRACE", "", options.trace);
  read_bytes("BP_STAGING_PIECE", options.staging_piece);
  return options;
}

void check_backend(const std::string& backend) {
  if (backend == kAutomaticBackend || find_backend(backend) != nullptr) return;
  throw Error(ErrorCode::invalid_argument,
              concat("there is no backend '", backend, "'; there are: ", backend_choices()));
}

void check_algorithm(const CommunicatorOptions& options, const Topology& topology) {
  (void)parse_algorithm(options.algorithm, topology.local_sizes);
  const BackendEntry* const backend = find_backend(options.backend);
  if (options.algorithm == "auto" || backend == nullptr || backend->no_choice.empty()) return;
  throw Error(ErrorCode::invalid_argument,
              concat("the backend ", options.backend, " has no algorithm '", options.algorithm,
                     "': ", backend->no_choice, "; possible here: auto"));
}

// Returns the name of this world. All ranks create the same number of worlds, so their counts
// agree.
std::string world_name(Store& store, int rank) {
  const std::int64_t number = store.add(concat("comm/worlds/", rank, "."), 1);
  return number == 1 ? "world" : concat("world#", number);
}

}  // namespace

Communicator Communicator::create(const CommunicatorOptions& options) {
  require_large_stacks();
  const CommunicatorOptions chosen = with_variables(options);
  check_backend(chosen.backend);
  Environment environment = Environment::current();
  std::shared_ptr<StoreHost> host;
  if (environment.topology.size() > 1 && !environment.store) {
    LaunchedJob job = join_launched_job(Variables::of_this_process(), chosen);
    environment = std::move(job.environment);
    host = std::move(job.host);
  }
  check_algorithm(chosen, environment.topology);
  auto measured =
      chosen.selection.empty() ? SelectionTable() : SelectionTable::read(chosen.selection);
  std::shared_ptr<TraceFile> trace;
  if (!chosen.trace.empty()) {
    trace = std::make_shared<TraceFile>(chosen.trace, environment.topology);
  }
  if (environment.topology.size() == 1) {
    if (trace) trace->start({});
    return make_world(environment.topology, chosen,
                      {.devices = own_device_choice(chosen.backend), .trace = std::move(trace)});
  }
  // Steps that can fail on this rank alone come before it joins the other ranks.
  load_gloo_plugin();
  static_cast<void>(own_device_choice(chosen.backend));
  const Deadline start(chosen.start_timeout);
  const ListenOn listen = listen_on(chosen.interface, *environment.store, start);
  StoreClientOptions client;
  client.address = *environment.store;
  client.job = environment.job;
  client.key = environment.key;
  client.rank = environment.topology.rank;
  client.connect_timeout = chosen.start_timeout;
  client.answer_within = std::clamp<std::chrono::milliseconds>(chosen.timeout, 1s, 30s);
  // The store's server must live at least as long as its client here.
  const std::shared_ptr<Store> store(connect_store(client).release(),
                                     [host](Store* connected) { delete connected; });
  WorldPlan plan;
  plan.name = world_name(*store, client.rank);
  plan.topology = environment.topology;
  for (int rank = 0; rank < plan.topology.size(); ++rank) plan.launcher_ranks.push_back(rank);
  plan.options = chosen;
  plan.measured = std::move(measured);
  plan.listen = listen;
  plan.key = environment.key;
  plan.trace = trace;
  Communicator world = connect_world(plan, store);
  world.impl().serves(host);
  if (trace) trace->start(measure_clock_offset(world));
  return world;
}

}  // namespace bp
