#include "comm/rendezvous/launched_job.h"

#include <sys/socket.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/deadline.h"
#include "base/system/socket_address.h"
#include "base/text.h"
#include "bp/error.h"
#include "bp/log.h"
#include "bp/store.h"
#include "comm/peers/local_address.h"
#include "comm/rendezvous/hosts.h"
#include "comm/rendezvous/store_rendezvous.h"
#include "comm/store/roll_call.h"
#include "comm/topology/environment_reader.h"

namespace bp {
namespace {

// Returns whether other hosts can use the address: it is neither loopback nor link-local.
bool is_for_others(const std::string& address) {
  return !address.empty() && !address.starts_with("127.") && address != "::1" &&
         !address.starts_with("fe80:");
}

// Returns the first address of the interface `name`. If `name` is empty, returns the first address
// of any interface that other hosts can use. IPv4 comes before IPv6. Returns "" if there is none.
std::string address_of_interface(const std::string& name) {
  for (const int family : {AF_INET, AF_INET6}) {
    for (const InterfaceEntry& entry : interface_entries()) {
      if (entry.address.address.ss_family != family || !entry.is_up) continue;
      std::string text = entry.address.host();
      if (name.empty() ? is_for_others(text) : name == entry.name) return text;
    }
  }
  return "";
}

// Returns a numeric address at which other hosts reach this one, without asking any of them: that
// of the interface or address `wanted`, if it is not empty; else the one from which this host
// reaches `towards`, a name or an address, if that is not empty; else the first that is neither
// loopback nor link-local. Blocks until `deadline` to look up names. Throws invalid_argument or io,
// with the variable to set.
std::string serving_address(const std::string& wanted,
                            const std::string& towards,
                            const Deadline& deadline) {
  std::string found;
  if (!wanted.empty()) {
    const ListenOn listen = listen_on(wanted, {}, deadline);
    found = listen.address.empty() ? address_of_interface(listen.interface) : listen.address;
  } else {
    if (!towards.empty()) found = listen_on("", {.host = towards, .port = 9}, deadline).address;
    if (!is_for_others(found)) found = address_of_interface("");
  }
  if (found.empty()) {
    throw Error(ErrorCode::io,
                concat("no network interface", wanted.empty() ? "" : " " + wanted,
                       " has an address that other hosts could reach; set BP_INTERFACE to the "
                       "name of one that has, or to an address"));
  }
  return found;
}

std::string key_of(int rank) { return concat("engine/host/", rank, "."); }

// Returns a host that the launcher itself reaches over the network to other hosts, or "".
std::string towards_others(const LaunchedRank& rank, const Variables& variables) {
  return rank.master_host.empty() ? variables.text("SLURM_LAUNCH_NODE_IPADDR") : rank.master_host;
}

std::shared_ptr<StoreHost> serve(const LaunchedRank& rank,
                                 const Variables& variables,
                                 const StoreRendezvous::Known& known,
                                 const std::string& interface,
                                 const Deadline& deadline) {
  StoreServerOptions options;
  if (!rank.one_host || !interface.empty()) {
    options.bind_address = serving_address(interface, towards_others(rank, variables), deadline);
  }
  options.port = known.port;
  options.job = rank.job;
  options.key = known.key;
  options.world_size = rank.size;
  return std::make_shared<StoreHost>(options);
}

// Waits for the identity of every rank. Throws timeout, naming the ranks that are missing.
std::vector<HostIdentity> all_host_identities(Store& store, int size, const Deadline& deadline) {
  std::vector<std::string> keys;
  for (int rank = 0; rank < size; ++rank) keys.push_back(key_of(rank));
  const std::vector<int> missing = missing_ranks(store, keys, deadline.left());
  if (!missing.empty()) {
    throw Error(
        ErrorCode::timeout,
        concat(ranks_text(missing), " of ", size,
               " did not connect to the job's store (did the launcher start all of them, and "
               "does each create a communicator?)"));
  }
  std::vector<HostIdentity> all;
  for (const std::string& key : keys) {
    all.push_back(parse_host_identity(store.get(key, deadline.left())));
  }
  return all;
}

void log_hosts(const LaunchedRank& rank, const std::vector<HostIdentity>& all, int hosts) {
  log(LogLevel::info, concat("started by the launcher ", rank.launcher, " (", rank.found_by,
                             "): ", rank.size, " ranks on ", hosts, " hosts"));
  std::set<std::string> different;
  for (const HostIdentity& one : all) different.insert(one.host);
  if (hosts > static_cast<int>(different.size())) {
    log(LogLevel::warn,
        concat("the launcher ", rank.launcher, " distributes consecutive ranks over ",
               different.size(),
               " hosts, so that they do not share memory; number the ranks host by host for speed "
               "(srun -m block, mpirun --map-by slot)"));
  }
}

}  // namespace

LaunchedJob join_launched_job(const Variables& variables, const CommunicatorOptions& options) {
  const auto rank = find_launcher(variables);
  BP_CHECK(rank, "only where the environment names a launcher");
  const Deadline deadline(options.start_timeout);
  const auto rendezvous = choose_rendezvous(*rank, variables);
  LaunchedJob job;
  job.environment = environment_of(*rank);
  if (rank->rank == 0) {
    const StoreRendezvous::Known known = rendezvous->known();
    job.host = serve(*rank, variables, known, options.interface, deadline);
    rendezvous->publish({job.host->address(), known.key}, deadline);
    job.environment.store = job.host->address();
    job.environment.key = known.key;
  }
  // The communicator connects as a rank later.
  std::unique_ptr<Store> store;
  if (job.host) {
    store = connect_store({.address = job.host->address(),
                           .job = rank->job,
                           .key = job.environment.key,
                           .connect_timeout = deadline.left()},
                          rendezvous->caller(0));
  } else {
    FoundStore found = find_store(*rendezvous, *rank, deadline);
    job.environment.store = found.endpoint.store;
    job.environment.key = found.endpoint.key;
    store = std::move(found.store);
  }
  store->set(key_of(rank->rank), to_text(own_host_identity(rank->node)));
  const auto all = all_host_identities(*store, rank->size, deadline);
  if (rank->rank == 0) rendezvous->withdraw();
  job.environment.topology = topology_of(rank->rank, all);
  if (rank->rank == 0) log_hosts(*rank, all, job.environment.topology.hosts());
  return job;
}

}  // namespace bp
