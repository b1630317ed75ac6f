#include "launcher/supervise/job_setup.h"

#include <chrono>
#include <utility>
#include <vector>

#include "base/system/loopback.h"
#include "base/text.h"
#include "launcher/plan/job_settings.h"
#include "launcher/plan/one_machine.h"
#include "launcher/protocol/hello.h"
#include "launcher/protocol/sealed_job.h"

namespace bp::launcher {
namespace {

// `here` is the address by which the hosts reach this machine.
std::string listening_address(bool all_local, const std::string& here) {
  return all_local ? loopback_address() : here.find(':') == std::string::npos ? "0.0.0.0" : "::";
}

// In a sweep, the relay that srun started is what starts the agent, which then offers a key.
bool travels_by_srun(const AgentStart& start, const Hello& hello) {
  return start.srun || (!start.local && !start.joined && !hello.public_key.empty());
}

}  // namespace

JobSetup::JobSetup(const Parts& parts,
                   const JobKey& key,
                   std::chrono::milliseconds silence_limit,
                   std::function<void(const StoreEvent&)> on_store)
    : parts_(parts), key_(key), silence_limit_(silence_limit), on_store_(std::move(on_store)) {}

std::optional<Failure> JobSetup::advance() {
  if (phase_ == Phase::connecting && parts_.agents.all_in(HostPhase::greeted)) {
    probe();
  }
  if (phase_ == Phase::probing && probe_->done()) {
    if (probe_->reach().failure) {
      return probe_->reach().failure;
    }
    prepare();
  }
  return std::nullopt;
}

bool JobSetup::done() const { return phase_ == Phase::preparing && parts_.agents.all_ready(); }

// Ranks of hosts that cannot reach each other would wait for each other until a timeout.
void JobSetup::probe() {
  const AgentSet& agents = parts_.agents;
  std::vector<HostToProbe> hosts;
  std::string seen;
  for (std::size_t host = 0; host < agents.size(); ++host) {
    const Hello& hello = agents.hello(host);
    hosts.push_back(
        host_to_probe(parts_.plan.placement[host].host, hello, parts_.options.interface));
    seen = seen.empty() ? hello.client_address : seen;
  }
  probe_ = std::make_unique<NetworkProbe>(
      parts_.loop, hosts, launcher_to_probe(seen, parts_.options.interface),
      [this](std::size_t host, const ToAgent& message) { parts_.agents.send(host, message); },
      parts_.options.probe);
  phase_ = Phase::probing;
}

// The same version of another build works, but may explain a difference between hosts.
void JobSetup::warn_of_other_builds() {
  for (std::size_t host = 0; host < parts_.agents.size(); ++host) {
    if (parts_.agents.hello(host).build != own_build()) {
      parts_.output.say(concat("bprun: warning: host ", parts_.plan.placement[host].host.name,
                               " has another build of bprun than this machine"));
    }
  }
}

// Ranks of such hosts share no memory, and each host's threads and GPUs count as if it were alone.
void JobSetup::warn_of_one_machine() {
  std::vector<GreetedHost> hosts;
  for (std::size_t host = 0; host < parts_.agents.size(); ++host) {
    hosts.push_back({parts_.plan.placement[host].host.name, parts_.plan.hosts[host],
                     parts_.agents.hello(host)});
  }
  for (const std::string& names : names_of_one_machine(hosts)) {
    parts_.output.say(concat("bprun: warning: ", names,
                             "; name it once, with all its ranks, unless you mean that"));
  }
}

void JobSetup::start_store(const std::string& address) {
  const Options& options = parts_.options;
  StoreServerOptions server;
  server.bind_address =
      listening_address(parts_.plan.all_local() && options.interface.empty(), address);
  server.port = options.store_port;
  server.job = parts_.generation.job;
  server.key = key_;
  server.world_size = world_size(parts_.plan.placement);
  server.silence_limit = silence_limit_;
  server.survivors_go_on = options.survivors_continue;
  store_ = std::make_unique<JobStore>(parts_.loop, server, on_store_);
  parts_.agents.look_for_signs_by([this] { return store_->signs_of_hosts(); });
}

void JobSetup::prepare() {
  warn_of_other_builds();
  warn_of_one_machine();
  AgentSet& agents = parts_.agents;
  KnownHosts hosts{.plan = parts_.plan, .hellos = {}, .addresses = probe_->reach().addresses};
  for (std::size_t host = 0; host < agents.size(); ++host) {
    hosts.hellos.push_back(agents.hello(host));
  }
  const std::string here = address_of_launcher(hosts, parts_.options.interface);
  start_store(here);
  const std::vector<JobSpec> specs = make_job_specs(hosts, parts_.options,
                                                    {.job = parts_.generation.job,
                                                     .generation = parts_.generation.number,
                                                     .key = key_,
                                                     .store = {here, store_->port()},
                                                     .live_columns = parts_.output.live_columns()});
  for (std::size_t host = 0; host < agents.size(); ++host) {
    if (travels_by_srun(parts_.plan.hosts[host], agents.hello(host))) {
      agents.send(host, seal_job(specs[host], agents.hello(host)));
    } else {
      agents.send(host, specs[host]);
    }
  }
  if (agents.size() == 1) {
    // No other host must be ready first. An agent that cannot start the ranks ignores this.
    agents.send_to_all(Go{});
  }
  phase_ = Phase::preparing;
}

}  // namespace bp::launcher
