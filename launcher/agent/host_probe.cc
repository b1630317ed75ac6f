#include "launcher/agent/host_probe.h"

#include <chrono>
#include <utility>

#include "launcher/hosts/address.h"

namespace bp::launcher {

HostProbe::HostProbe(EventLoop& loop, std::function<void(const ToLauncher&)> send)
    : loop_(loop), send_(std::move(send)) {}

void HostProbe::handle(const ProbeListen& message) {
  key_ = message.key;
  listener_ = std::make_unique<ProbeListener>(loop_, message.host, message.key);
  send_(ProbeReady{listener_->port(), own_addresses()});
}

void HostProbe::handle(const ProbePeers& message) {
  round_ = std::make_unique<ProbeRound>(
      loop_, key_, message.peers, std::chrono::milliseconds(message.limit_ms),
      [this](const ProbeProblems& problems) { send_(ProbeReport{problems}); });
}

void HostProbe::end() {
  round_.reset();
  listener_.reset();
}

}  // namespace bp::launcher
