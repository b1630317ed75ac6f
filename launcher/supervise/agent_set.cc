#include "launcher/supervise/agent_set.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <variant>

#include "launcher/failure/host_texts.h"
#include "launcher/protocol/timing.h"

namespace bp::launcher {
namespace {

// A message for every piece of output would cost as much as the piece.
constexpr std::uint32_t kAcknowledgedAtOnce = kOutputWindow / 4;

}  // namespace

AgentSet::AgentSet(EventLoop& loop,
                   const JobPlan& plan,
                   std::vector<JoinedMachine> machines,
                   std::chrono::milliseconds lost_after,
                   std::function<void(std::size_t, const ToLauncher&)> on_message)
    : loop_(loop),
      plan_(plan),
      on_message_(std::move(on_message)),
      hosts_(plan.hosts.size()),
      heartbeats_(loop,
                  plan,
                  hosts_,
                  lost_after,
                  [this](std::size_t host, const LinkLoss& loss) { on_lost(host, loss); }),
      failures_(plan, hosts_, heartbeats_) {
  machines.resize(hosts_.size());
  for (std::size_t host = 0; host < hosts_.size(); ++host) {
    connect(host, std::move(machines[host]));
  }
}

void AgentSet::connect(std::size_t host, JoinedMachine machine) {
  HostAgent& agent = hosts_[host];
  AgentLink::Listener listener{[this, host](ToLauncher& message) { handle(host, message); },
                               [this, host](const LinkLoss& loss) { on_lost(host, loss); }};
  if (machine.channel) {
    agent.link =
        std::make_unique<AgentLink>(loop_, std::move(machine.channel), std::move(listener));
    agent.link->outlast(heartbeats_.lost_after());
    agent.hello = std::move(machine.hello);
    agent.phase = HostPhase::greeted;
  } else if (plan_.hosts[host].local) {
    agent.link = std::make_unique<AgentLink>(loop_, std::move(listener));
  } else {
    agent.link = std::make_unique<AgentLink>(loop_, plan_.hosts[host].command, std::move(listener));
  }
}

AgentSet::~AgentSet() { close(0s); }

const std::string& AgentSet::name(std::size_t host) const {
  return plan_.placement[host].host.name;
}

void AgentSet::handle(std::size_t host, const ToLauncher& message) {
  HostAgent& agent = hosts_[host];
  if (const auto* hello = std::get_if<Hello>(&message)) {
    agent.hello = *hello;
    agent.phase = HostPhase::greeted;
  } else if (std::holds_alternative<Ready>(message)) {
    agent.phase = HostPhase::ready;
  } else if (std::holds_alternative<Done>(message)) {
    agent.phase = HostPhase::done;
  } else if (const auto* failed = std::get_if<StartFailed>(&message)) {
    if (!start_failure_) {
      start_failure_ = failure_of(*failed, name(host), plan_.program);
      start_failure_->hosts = {name(host)};
    }
  } else if (!std::holds_alternative<Heartbeat>(message)) {
    on_message_(host, message);
  }
}

void AgentSet::on_lost(std::size_t host, const LinkLoss& loss) {
  heartbeats_.look_for_pause();
  HostAgent& agent = hosts_[host];
  if (agent.phase != HostPhase::done && agent.phase != HostPhase::lost) {
    agent.phase = HostPhase::lost;
    agent.loss = loss;
    failures_.host_lost();
  }
}

bool AgentSet::all_in(HostPhase phase) const {
  return std::ranges::all_of(hosts_,
                             [phase](const HostAgent& agent) { return agent.phase == phase; });
}

bool AgentSet::all_ready() const {
  return std::ranges::all_of(hosts_, [](const HostAgent& agent) {
    return agent.phase == HostPhase::ready || agent.phase == HostPhase::done;
  });
}

bool AgentSet::all_over() const {
  return std::ranges::all_of(hosts_, [](const HostAgent& agent) {
    return agent.phase == HostPhase::done || agent.phase == HostPhase::lost;
  });
}

std::optional<Failure> AgentSet::trouble(std::chrono::milliseconds start_timeout) const {
  return start_failure_ ? start_failure_ : failures_.find(start_timeout);
}

void AgentSet::send_to_all(const ToAgent& message) {
  for (HostAgent& agent : hosts_) {
    agent.link->send(message);
  }
}

void AgentSet::output_taken(std::size_t host, std::uint32_t bytes) {
  std::uint32_t& unacknowledged = hosts_[host].unacknowledged;
  unacknowledged += bytes;
  if (unacknowledged >= kAcknowledgedAtOnce) {
    send(host, OutputTaken{std::exchange(unacknowledged, 0)});
  }
}

void AgentSet::look_for_signs_by(std::function<std::map<std::string, std::string>()> signs) {
  heartbeats_.look_for_signs_by(std::move(signs));
}

void AgentSet::dismiss(const End& end, std::chrono::milliseconds limit) {
  const auto listens = [this](std::size_t host) {
    return plan_.hosts[host].joined && !hosts_[host].link->closed() &&
           hosts_[host].phase != HostPhase::lost;
  };
  for (std::size_t host = 0; host < hosts_.size(); ++host) {
    if (listens(host)) {
      send(host, end);
    }
  }
  const Deadline deadline(limit);
  for (std::size_t host = 0; host < hosts_.size(); ++host) {
    while (listens(host) && !deadline.passed()) {
      loop_.run_once(deadline.left());
    }
  }
}

void AgentSet::close(std::chrono::milliseconds limit) {
  heartbeats_.stop();
  // All agents begin to end before bprun waits for any of them.
  for (HostAgent& agent : hosts_) {
    agent.link->hang_up();
  }
  const Deadline deadline(limit);
  for (HostAgent& agent : hosts_) {
    // An ssh whose host is lost would take long to notice that.
    agent.link->wait(agent.phase == HostPhase::lost ? Deadline(0ms) : deadline);
  }
}

}  // namespace bp::launcher
