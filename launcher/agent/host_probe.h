// An agent's part in the network probe: listens for the other hosts, then tries to reach each of
// them.
#pragma once

#include <functional>
#include <memory>

#include "launcher/network/probe_listener.h"
#include "launcher/network/probe_round.h"
#include "launcher/process/event_loop.h"
#include "launcher/protocol/messages.h"

namespace bp::launcher {

class HostProbe {
 public:
  // `send` sends the answers to bprun. `loop` must outlive this.
  HostProbe(EventLoop& loop, std::function<void(const ToLauncher&)> send);

  void handle(const ProbeListen& message);  // answers ProbeReady
  void handle(const ProbePeers& message);   // answers ProbeReport once all are tried
  void end();                               // closes its sockets

 private:
  EventLoop& loop_;
  std::function<void(const ToLauncher&)> send_;
  JobKey key_{};
  std::unique_ptr<ProbeListener> listener_;
  std::unique_ptr<ProbeRound> round_;
};

}  // namespace bp::launcher
