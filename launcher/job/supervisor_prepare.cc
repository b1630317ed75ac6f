// What Supervisor does between the agents' greeting and their readiness: the store, and what each
// host must know.
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "bp/error.h"
#include "comm/base/terminal_columns.h"
#include "comm/base/text.h"
#include "launcher/agent/hello.h"
#include "launcher/hosts/machine.h"
#include "launcher/job/supervisor.h"
#include "launcher/network/port_holder.h"
#include "launcher/process/environment_list.h"
#include "launcher/process/limits.h"

namespace bp::launcher {
namespace {

std::uint32_t current_umask() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return mask;
}

}  // namespace

// Hosts that cannot reach each other are found before the ranks would wait for each other.
void Supervisor::probe() {
  std::vector<HostToProbe> hosts;
  std::string seen;
  for (std::size_t host = 0; host < crew_.size(); ++host) {
    const Hello& hello = crew_.hello(host);
    hosts.push_back(host_to_probe(plan_.placement[host].host, hello, options_.interface));
    seen = seen.empty() ? hello.client_address : seen;
  }
  probe_ = std::make_unique<NetworkProbe>(
      loop_, hosts, launcher_to_probe(seen, options_.interface),
      [this](std::size_t host, const ToAgent& message) { crew_.send(host, message); },
      options_.probe);
  phase_ = Phase::probing;
}

// The address of this machine for the others: that which they all reach; where that was not looked
// for, what was asked for, what another host's ssh connection came from, or the interface that
// leads there.
std::string Supervisor::advertised_address() const {
  if (const std::string& found = probe_->reach().addresses.back(); !found.empty()) {
    return found;
  }
  if (!options_.interface.empty()) {
    return interface_address(options_.interface);
  }
  std::string best;
  for (std::size_t host = 0; host < crew_.size(); ++host) {
    if (plan_.hosts[host].local) {
      continue;
    }
    const std::string& seen = crew_.hello(host).client_address;
    const std::string address =
        seen.empty() ? address_towards(plan_.placement[host].host.name) : seen;
    if (!address.empty() && (best.empty() || is_loopback(best))) {
      best = address;
    }
  }
  return best.empty() ? "127.0.0.1" : best;
}

JobVariables Supervisor::job_variables(const std::string& here) const {
  const Hello& first = crew_.hello(0);
  JobVariables variables;
  variables.store = {here, store_->address().port};
  variables.master_port = first.free_port;
  variables.generation = generation_.number;
  variables.master_address = here;
  if (const std::string& found = probe_->reach().addresses.front(); !found.empty()) {
    variables.master_address = found;
  } else if (!plan_.hosts.front().local) {
    variables.master_address =
        first.server_address.empty() ? plan_.placement.front().host.name : first.server_address;
  }
  return variables;
}

JobSpec Supervisor::job_spec(std::size_t host, const JobVariables& variables, int threads) const {
  JobSpec spec;
  spec.job = generation_.job;
  const HostPlan& plan = plan_.hosts[host];
  spec.key = plan.joined ? JobKey{} : key_;  // that it makes itself
  spec.argv = options_.program;
  spec.directory = plan.joined ? "" : std::filesystem::current_path().string();
  spec.umask = current_umask();
  if (!plan.joined) {
    spec.limits = travelling_limits();
  }
  spec.whole_environment = plan.local;
  spec.environment = sent_environment(
      own_environment(), {.whole = plan.local || options_.whole_environment, .joined = plan.joined},
      options_.environment);
  // The ranks' working directory may be another one by the time they write there.
  const auto pass_folder = [&spec](const char* variable, const std::string& folder) {
    if (folder.empty()) {
      return;
    }
    const std::string path = std::filesystem::absolute(folder).string();
    spec.environment =
        merged_environment(std::move(spec.environment), {concat(variable, "=", path)});
  };
  pass_folder("BP_OUTPUT", options_.output);
  pass_folder("BP_TRACE", options_.trace);
  spec.defaults = {concat("OMP_NUM_THREADS=", threads)};
  if (const std::string& address = probe_->reach().addresses[host]; !address.empty()) {
    spec.defaults.push_back(concat("BP_INTERFACE=", address));
  }
  const PlacedHost& placed = plan_.placement[host];
  for (int rank = placed.first_rank; rank < placed.first_rank + placed.ranks; ++rank) {
    spec.ranks.push_back({rank, rank_variables(plan_.placement, rank, variables)});
    if (rank == 0) {
      spec.ranks.back().environment.push_back(
          concat(kTerminalColumns, "=", output_.live_columns()));
    }
  }
  return spec;
}

// The same version of another build works, but is worth a look when something is odd.
void Supervisor::warn_of_other_builds() {
  for (std::size_t host = 0; host < crew_.size(); ++host) {
    if (crew_.hello(host).build != own_build()) {
      output_.say(concat("bprun: warning: host ", plan_.placement[host].host.name,
                         " has another build of bprun than this machine"));
    }
  }
}

void Supervisor::prepare() {
  warn_of_other_builds();
  store_events_ =
      std::make_unique<StoreEvents>(loop_, [this](const StoreEvent& event) { on_store(event); });
  StoreServerOptions server;
  const std::string here = advertised_address();
  server.bind_address = plan_.all_local() && options_.interface.empty() ? "127.0.0.1"
                        : here.find(':') == std::string::npos           ? "0.0.0.0"
                                                                        : "::";
  server.port = options_.store_port;
  server.job = generation_.job;
  server.key = key_;
  server.world_size = world_size(plan_.placement);
  server.silence_limit = silence_.limit();
  server.survivors_go_on = options_.survivors_go_on;
  const auto push = [this](const StoreEvent& event) { store_events_->push(event); };
  try {
    store_ = std::make_unique<StoreServer>(server, push);
  } catch (const Error& error) {
    if (options_.store_port == 0) {
      throw;
    }
    const std::string holder = port_holder(options_.store_port);
    throw Error(ErrorCode::invalid_argument,
                concat("--store-port: ", holder.empty()
                                             ? error.what()
                                             : concat("port ", options_.store_port, " is held by ",
                                                      holder, "; 0 takes any free one")));
  }

  std::vector<HostCores> cores;
  for (std::size_t host = 0; host < crew_.size(); ++host) {
    const Hello& hello = crew_.hello(host);
    cores.push_back({hello.machine, hello.cores, plan_.placement[host].ranks});
  }
  const auto threads = threads_per_rank(cores);
  const JobVariables variables = job_variables(here);
  for (std::size_t host = 0; host < crew_.size(); ++host) {
    crew_.send(host, job_spec(host, variables, threads[host]));
  }
  phase_ = Phase::preparing;
}

}  // namespace bp::launcher
