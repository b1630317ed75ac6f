// What Supervisor does between the agents' greeting and the start of the ranks: the network, the
// store, and what each host must know.
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "bp/error.h"
#include "launcher/agent/liveness_check.h"
#include "launcher/network/port_holder.h"
#include "launcher/plan/job_settings.h"
#include "launcher/protocol/hello.h"
#include "launcher/supervise/supervisor.h"

namespace bp::launcher {
namespace {

// `here`: this machine's address for the hosts.
std::string listening_address(bool all_local, const std::string& here) {
  return all_local ? "127.0.0.1" : here.find(':') == std::string::npos ? "0.0.0.0" : "::";
}

// A port that the user chose may be taken.
std::unique_ptr<StoreServer> start_store(const StoreServerOptions& options,
                                         const std::function<void(const StoreEvent&)>& listener) {
  try {
    return std::make_unique<StoreServer>(options, listener);
  } catch (const Error& error) {
    if (options.port == 0) {
      throw;
    }
    const std::string holder = port_holder(options.port);
    throw Error(
        ErrorCode::invalid_argument,
        concat("--store-port: ", holder.empty() ? error.what()
                                                : concat("port ", options.port, " is held by ",
                                                         holder, "; 0 takes any free one")));
  }
}

}  // namespace

// Hosts that cannot reach each other are found before the ranks would wait for each other.
void Supervisor::probe() {
  std::vector<HostToProbe> hosts;
  std::string seen;
  for (std::size_t host = 0; host < agents_.size(); ++host) {
    const Hello& hello = agents_.hello(host);
    hosts.push_back(host_to_probe(plan_.placement[host].host, hello, options_.interface));
    seen = seen.empty() ? hello.client_address : seen;
  }
  probe_ = std::make_unique<NetworkProbe>(
      loop_, hosts, launcher_to_probe(seen, options_.interface),
      [this](std::size_t host, const ToAgent& message) { agents_.send(host, message); },
      options_.probe);
  phase_ = Phase::probing;
}

// The same version of another build works, but is worth a look when something is odd.
void Supervisor::warn_of_other_builds() {
  for (std::size_t host = 0; host < agents_.size(); ++host) {
    if (agents_.hello(host).build != own_build()) {
      output_.say(concat("bprun: warning: host ", plan_.placement[host].host.name,
                         " has another build of bprun than this machine"));
    }
  }
}

void Supervisor::prepare() {
  warn_of_other_builds();
  KnownHosts hosts{.plan = plan_, .hellos = {}, .addresses = probe_->reach().addresses};
  for (std::size_t host = 0; host < agents_.size(); ++host) {
    hosts.hellos.push_back(agents_.hello(host));
  }
  const std::string here = address_of_launcher(hosts, options_.interface);
  StoreServerOptions server;
  server.bind_address = listening_address(plan_.all_local() && options_.interface.empty(), here);
  server.port = options_.store_port;
  server.job = generation_.job;
  server.key = key_;
  server.world_size = ranks_.size();
  server.silence_limit = heartbeats_.limit();
  server.survivors_go_on = options_.survivors_go_on;
  store_events_ =
      std::make_unique<StoreEvents>(loop_, [this](const StoreEvent& event) { on_store(event); });
  store_ = start_store(server, [this](const StoreEvent& event) { store_events_->push(event); });

  agents_.look_for_signs_by([this] { return store_->values(kHostAliveKeys); });
  const std::vector<JobSpec> specs = make_job_specs(hosts, options_,
                                                    {.job = generation_.job,
                                                     .generation = generation_.number,
                                                     .key = key_,
                                                     .store = {here, store_->address().port},
                                                     .live_columns = output_.live_columns()});
  for (std::size_t host = 0; host < agents_.size(); ++host) {
    agents_.send(host, specs[host]);
  }
  if (agents_.size() == 1) {
    agents_.send_to_all(
        Go{});  // there is no other host to wait for; one that is not ready ignores it
  }
  phase_ = Phase::preparing;
}

void Supervisor::go() {
  input_ = std::make_unique<InputForwarder>(loop_, STDIN_FILENO, [this](std::string data) {
    agents_.send(0, StdinData{std::move(data)});
  });
  if (agents_.size() > 1) {
    agents_.send_to_all(Go{});
  }
  started_ = Clock::now();
  phase_ = Phase::running;
}

}  // namespace bp::launcher
