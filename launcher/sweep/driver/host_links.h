// The connections to all other hosts of a sweep. A host that is lost is tried again until it is
// back.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "launcher/plan/job_plan.h"
#include "launcher/process/event_loop.h"
#include "launcher/sweep/relay/host_connection.h"
#include "launcher/sweep/relay/relay_server.h"

namespace bp::launcher::sweep {

class HostLinks {
 public:
  struct Listener {
    std::function<void(std::size_t host, int cores)> on_present;
    std::function<void(std::size_t host, const std::string& why)> on_lost;
  };

  // Connects to the hosts of `plan` that are not this machine. `loop` and `plan` must outlive this.
  HostLinks(EventLoop& loop,
            const JobPlan& plan,
            std::chrono::milliseconds start_timeout,
            Listener listener);
  ~HostLinks();
  HostLinks(const HostLinks&) = delete;
  HostLinks& operator=(const HostLinks&) = delete;

  // Whether any host is still being connected to for the first time.
  [[nodiscard]] bool any_pending() const;
  // A trial has found the host lost before the connection did.
  void lose(std::size_t host, const std::string& why);
  // The value of --ssh with which a trial's bprun reaches hosts; empty if all are this machine.
  [[nodiscard]] std::string ssh() const;
  // The folder of the relay's socket; empty if all hosts are this machine.
  [[nodiscard]] std::string folder() const { return server_ ? server_->folder() : ""; }

 private:
  struct Link;
  void connect(std::size_t host);
  void ready(std::size_t host, int cores);
  void lost(std::size_t host, const std::string& why);

  EventLoop& loop_;
  const JobPlan& plan_;
  std::chrono::milliseconds start_timeout_;
  Listener listener_;
  std::vector<std::unique_ptr<Link>> links_;  // null for this machine
  std::unique_ptr<RelayServer> server_;
};

}  // namespace bp::launcher::sweep
