// The launcher's side of the network probe: before the ranks start, every host of a job tries to
// reach every other. Agents first listen (ProbeListen, ProbeReady), then try each other
// (ProbePeers, ProbeReport).
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/hosts/host.h"
#include "launcher/network/probe_listener.h"
#include "launcher/network/probe_round.h"
#include "launcher/network/reach.h"
#include "launcher/process/event_loop.h"
#include "launcher/protocol/agent_messages.h"

namespace bp::launcher {

struct HostToProbe {
  std::string name;
  std::string machine;
  std::string seen;    // the address to which ssh connected; may be empty
  std::string wanted;  // an interface, address or network; empty: any
};

// `interface` is the user's --interface for all hosts. If it is an address, it applies only to
// hosts on the launcher's machine.
[[nodiscard]] HostToProbe host_to_probe(const Host& host,
                                        const Hello& hello,
                                        const std::string& interface);
// `seen` is the address from which some host saw its ssh connection come; may be empty.
[[nodiscard]] HostToProbe launcher_to_probe(const std::string& seen, const std::string& interface);

class NetworkProbe {
 public:
  static constexpr std::chrono::milliseconds kLimit{3000};  // for a host to answer all the others
  static constexpr std::chrono::milliseconds kLongest{ProbeRound::kMostLimits * kLimit};

  // `launcher` describes this machine, on which the store listens. `send(host, message)` sends to
  // the agent of that index. The probe is done at once, without addresses, if all hosts are on the
  // launcher's machine or if it is not `wanted`.
  NetworkProbe(EventLoop& loop,
               const std::vector<HostToProbe>& hosts,
               const HostToProbe& launcher,
               std::function<void(std::size_t, const ToAgent&)> send,
               bool wanted = true);

  void handle(std::size_t host, const ProbeReady& ready);
  void handle(std::size_t host, const ProbeReport& report);

  [[nodiscard]] bool done() const { return reach_.has_value(); }
  // Call it only once done(). The addresses are those of the hosts, then the launcher's; they are
  // empty if nothing was probed.
  [[nodiscard]] const Reach& reach() const { return *reach_; }

 private:
  void take_addresses(std::size_t host, const std::vector<InterfaceAddress>& all);
  void start_round();

  EventLoop& loop_;
  std::function<void(std::size_t, const ToAgent&)> send_;
  const JobKey key_;
  const std::size_t agents_;
  // The agents' hosts; then the launcher's, if no agent runs there.
  std::vector<HostToProbe> hosts_;
  std::size_t launcher_ = 0;  // the launcher's index in hosts_
  std::vector<ProbedHost> probed_;
  std::vector<int> ports_;
  ProbeMatrix matrix_;
  std::size_t ready_ = 0;
  std::size_t reported_ = 0;
  std::unique_ptr<ProbeListener> own_listener_;
  std::optional<Reach> reach_;
};

}  // namespace bp::launcher
