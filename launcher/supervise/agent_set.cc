#include "launcher/supervise/agent_set.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "base/text.h"
#include "launcher/failure/host_texts.h"
#include "launcher/protocol/hello.h"
#include "launcher/protocol/timing.h"
#include "launcher/report/clock_text.h"
#include "launcher/report/exit_code.h"

namespace bp::launcher {
namespace {

// A message for every piece of output would cost as much as the piece.
constexpr std::uint32_t kAcknowledgedAtOnce = kOutputWindow / 4;
// When one host could not be reached, the report waits this long to name the others too.
constexpr auto kOtherLosses = 1s;

std::string ranks_on(const PlacedHost& placed) {
  return placed.ranks == 1 ? concat("rank ", placed.first_rank, " was on that host")
                           : concat("ranks ", placed.first_rank, "-",
                                    placed.first_rank + placed.ranks - 1, " were on that host");
}

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
      own_hello_(make_hello(0)) {
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
    first_loss_ = first_loss_.value_or(Clock::now());
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
  if (start_failure_) return start_failure_;
  if (auto failure = not_reached(start_timeout)) return failure;
  if (auto failure = other_version()) return failure;
  return lost_while_running();
}

// Hosts that have failed to connect, and those that have taken too long, in one failure.
std::optional<Failure> AgentSet::not_reached(std::chrono::milliseconds start_timeout) const {
  const auto now = Clock::now();
  std::vector<std::size_t> lost;
  std::vector<std::size_t> waiting;
  for (std::size_t host = 0; host < hosts_.size(); ++host) {
    if (hosts_[host].phase == HostPhase::lost && hosts_[host].loss.before_hello) {
      lost.push_back(host);
    } else if (hosts_[host].phase == HostPhase::connecting) {
      waiting.push_back(host);
    }
  }
  const bool too_late = !waiting.empty() && now - heartbeats_.awake_since() >= start_timeout;
  const bool all_known = !lost.empty() && (waiting.empty() || now - *first_loss_ >= kOtherLosses);
  if (!too_late && !all_known) {
    return std::nullopt;
  }
  std::vector<std::pair<std::string, Failure>> failures;
  for (const std::size_t host : lost) {
    failures.emplace_back(name(host),
                          unreachable(name(host), hosts_[host].loss, plan_.hosts[host].bprun));
  }
  for (std::size_t i = 0; too_late && i < waiting.size(); ++i) {
    const std::size_t host = waiting[i];
    failures.emplace_back(name(host),
                          no_answer(name(host), hosts_[host].link->let_in(), start_timeout));
  }
  Failure first = failures.front().second;
  first.more = others_like(failures);
  for (const auto& [host, failure] : failures) {
    first.hosts.push_back(host);
  }
  return first;
}

std::optional<Failure> AgentSet::other_version() const {
  for (std::size_t host = 0; host < hosts_.size(); ++host) {
    if (hosts_[host].phase == HostPhase::greeted) {
      if (std::string text = version_trouble(name(host), hosts_[host].hello, own_hello_);
          !text.empty()) {
        return Failure{.exit_code = kExitInternal, .headline = std::move(text)};
      }
    }
  }
  return std::nullopt;
}

std::optional<Failure> AgentSet::lost_while_running() const {
  for (std::size_t host = 0; host < hosts_.size(); ++host) {
    const HostAgent& agent = hosts_[host];
    if (agent.phase == HostPhase::lost && !agent.loss.before_hello) {
      if (auto pause = own_pause(agent.loss)) {
        return pause;
      }
      Failure failure = lost_after_hello(name(host), agent.loss, plan_.hosts[host]);
      failure.hosts = {name(host)};
      failure.more.push_back(ranks_on(plan_.placement[host]));
      return failure;
    }
  }
  return std::nullopt;
}

// Agents end their ranks when bprun is silent, as it was while it was paused. No host is to blame.
std::optional<Failure> AgentSet::own_pause(const LinkLoss& loss) const {
  const auto lost_after = heartbeats_.lost_after();
  const bool caused = loss.heard_nothing_from_bprun &&
                      heartbeats_.last_pause() > lost_after - 2 * kHeartbeat &&
                      Clock::now() - heartbeats_.awake_since() < lost_after;
  if (!caused) {
    return std::nullopt;
  }
  Failure failure{
      .exit_code = kExitTemporary,
      .headline = concat("bprun itself was stopped for ", elapsed_text(heartbeats_.last_pause()),
                         ", and its agents ended the ranks")};
  for (std::size_t host = 0; host < hosts_.size(); ++host) {
    if (hosts_[host].phase == HostPhase::lost && hosts_[host].loss.heard_nothing_from_bprun) {
      failure.more.push_back(concat("the agent on ", name(host), " ", hosts_[host].loss.last_word));
    }
  }
  failure.hint =
      "a signal stopped bprun, or this machine slept; Ctrl-Z instead of kill -STOP stops the whole "
      "job, and --lost-after 30s waits longer";
  return failure;
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
