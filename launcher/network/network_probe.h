// Has every host of a job try every other, both ways, before its ranks start: the launcher's side.
// Agents listen (ProbeListen, ProbeReady), then try each other (ProbePeers, ProbeReport).
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/hosts/host.h"
#include "launcher/network/probe_listener.h"
#include "launcher/network/reach.h"
#include "launcher/process/event_loop.h"
#include "launcher/protocol/messages.h"

namespace bp::launcher {

struct HostToProbe {
  std::string name;
  std::string machine;
  std::string seen;    // its address as ssh came to it; may be empty
  std::string wanted;  // an interface, address or network; empty: any
};

// `interface` is the user's wish for all hosts. One that is an address is the launcher's alone.
[[nodiscard]] HostToProbe host_to_probe(const Host& host,
                                        const Hello& hello,
                                        const std::string& interface);
// `seen`: from where some host saw its ssh come; may be empty.
[[nodiscard]] HostToProbe launcher_to_probe(const std::string& seen, const std::string& interface);

class NetworkProbe {
 public:
  static constexpr std::chrono::milliseconds kLimit{3000};  // for each host to try all others

  // `launcher` is this machine, where the store listens. `send` goes to the host of that number.
  // Where all hosts are on the launcher's machine, or it is not `wanted`, nothing is found out.
  NetworkProbe(EventLoop& loop,
               const std::vector<HostToProbe>& hosts,
               const HostToProbe& launcher,
               std::function<void(std::size_t, const ToAgent&)> send,
               bool wanted = true);

  void handle(std::size_t host, const ProbeReady& ready);
  void handle(std::size_t host, const ProbeReport& report);

  [[nodiscard]] bool done() const { return reach_.has_value(); }
  // Once done. Addresses are those of the hosts, then the launcher's; empty where nothing was found
  // out.
  [[nodiscard]] const Reach& reach() const { return *reach_; }

 private:
  void take_addresses(std::size_t host, const std::vector<InterfaceAddress>& all);
  void start_round();

  EventLoop& loop_;
  std::function<void(std::size_t, const ToAgent&)> send_;
  const JobKey key_;
  const std::size_t agents_;
  std::vector<HostToProbe> hosts_;  // of the agents; then the launcher's, where no agent is there
  std::size_t launcher_ = 0;        // which of them is the launcher's
  std::vector<ProbedHost> probed_;
  std::vector<int> ports_;
  ProbeMatrix matrix_;
  std::size_t ready_ = 0;
  std::size_t reported_ = 0;
  std::unique_ptr<ProbeListener> own_listener_;
  std::optional<Reach> reach_;
};

}  // namespace bp::launcher
