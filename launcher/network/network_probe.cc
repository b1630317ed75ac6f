#include "launcher/network/network_probe.h"

#include <algorithm>

#include "base/keys/job_key.h"
#include "base/text.h"
#include "launcher/protocol/hello.h"
#include "launcher/report/exit_code.h"

namespace bp::launcher {
namespace {

constexpr std::size_t kMostAddresses = 8;  // per host; the likeliest come first

}  // namespace

HostToProbe host_to_probe(const Host& host, const Hello& hello, const std::string& interface) {
  const bool same_machine = hello.machine == make_hello(0).machine;
  const bool applies = host.interface.empty() && (same_machine || !address_bytes(interface));
  return {.name = host.name,
          .machine = hello.machine,
          .seen = hello.server_address,
          .wanted = applies ? interface : host.interface};
}

HostToProbe launcher_to_probe(const std::string& seen, const std::string& interface) {
  return {
      .name = own_host_name(), .machine = make_hello(0).machine, .seen = seen, .wanted = interface};
}

NetworkProbe::NetworkProbe(EventLoop& loop,
                           const std::vector<HostToProbe>& hosts,
                           const HostToProbe& launcher,
                           std::function<void(std::size_t, const ToAgent&)> send,
                           bool wanted)
    : loop_(loop),
      send_(std::move(send)),
      key_(random_job_key()),
      agents_(hosts.size()),
      hosts_(hosts) {
  const auto here = [&](const HostToProbe& host) { return host.machine == launcher.machine; };
  launcher_ = static_cast<std::size_t>(std::ranges::find_if(hosts_, here) - hosts_.begin());
  if (!wanted || std::ranges::all_of(hosts_, here)) {
    reach_ = Reach{.addresses = std::vector<std::string>(agents_ + 1), .failure = {}};
    return;
  }
  if (launcher_ == agents_) {
    hosts_.push_back(launcher);
  } else {
    hosts_[launcher_].seen = launcher.seen;
  }
  for (const HostToProbe& host : hosts_) {
    probed_.push_back({.name = host.name, .machine = host.machine, .addresses = {}});
  }
  ports_.resize(hosts_.size());
  matrix_.resize(hosts_.size(), ProbeProblems(hosts_.size()));
  if (launcher_ == agents_) {
    probed_.back().asks = false;
    own_listener_ = std::make_unique<ProbeListener>(loop_, static_cast<int>(launcher_), key_);
    ports_.back() = own_listener_->port();
    take_addresses(launcher_, own_addresses());
  }
  for (std::size_t host = 0; host < agents_; ++host) {
    send_(host, ProbeListen{static_cast<std::int32_t>(host), key_});
  }
}

void NetworkProbe::take_addresses(std::size_t host, const std::vector<InterfaceAddress>& all) {
  const HostToProbe& asked = hosts_[host];
  auto& addresses = probed_[host].addresses;
  addresses = candidates(all, asked.seen, asked.wanted);
  addresses.resize(std::min(addresses.size(), kMostAddresses));
  if (addresses.empty() && !reach_) {
    const std::string of_what =
        asked.wanted.empty() ? "that others could reach" : concat("of ", asked.wanted);
    Failure failure{.exit_code = kExitTemporary,
                    .headline = concat("host ", asked.name, " has no address ", of_what,
                                       "; it has ", list_text(all))};
    failure.hint = asked.wanted.empty() ? ""
                                        : "a network (--interface 10.0.0.0/8) fits hosts that name "
                                          "theirs differently; iface= is for one host";
    failure.hosts = {asked.name};
    reach_ = Reach{.addresses = {}, .failure = std::move(failure)};
  }
}

void NetworkProbe::handle(std::size_t host, const ProbeReady& ready) {
  ports_[host] = ready.port;
  take_addresses(host, ready.addresses);
  if (++ready_ == agents_ && !done()) {
    start_round();
  }
}

void NetworkProbe::start_round() {
  for (std::size_t from = 0; from < agents_; ++from) {
    ProbePeers peers{static_cast<std::uint32_t>(kLimit.count()), {}};
    for (std::size_t to = 0; to < hosts_.size(); ++to) {
      if (probed_[from].machine != probed_[to].machine) {
        ProbePeer peer{.host = static_cast<int>(to), .port = ports_[to], .addresses = {}};
        for (const InterfaceAddress& entry : probed_[to].addresses) {
          peer.addresses.push_back(entry.address);
        }
        peers.peers.push_back(std::move(peer));
      }
    }
    send_(from, peers);
  }
}

void NetworkProbe::handle(std::size_t host, const ProbeReport& report) {
  std::size_t next = 0;
  for (std::size_t to = 0; to < hosts_.size(); ++to) {
    if (probed_[host].machine == probed_[to].machine) {
      continue;
    }
    auto& problems = matrix_[host][to];
    problems = next < report.problems.size() ? report.problems[next] : std::vector<std::string>{};
    problems.resize(probed_[to].addresses.size(), "not reported");
    ++next;
  }
  if (++reported_ == agents_ && !done()) {
    reach_ = choose_addresses(probed_, matrix_);
    if (launcher_ < agents_) {
      reach_->addresses.push_back(reach_->addresses[launcher_]);
    }
    own_listener_.reset();
  }
}

}  // namespace bp::launcher
