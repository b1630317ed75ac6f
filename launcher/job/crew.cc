#include "launcher/job/crew.h"

#include <algorithm>
#include <utility>

#include "comm/base/text.h"
#include "launcher/agent/hello.h"
#include "launcher/agent/timing.h"
#include "launcher/job/job_texts.h"
#include "launcher/report/clock_text.h"
#include "launcher/report/exit_code.h"

namespace bp::launcher {
namespace {

// A message for every piece of output would cost as much as the piece.
constexpr std::uint32_t kToldAtOnce = kOutputWindow / 4;
// After one host could not be reached, for the others to tell the same.
constexpr auto kOthersAnswer = 1s;

std::string ranks_there(const PlacedHost& placed) {
  return placed.ranks == 1 ? concat("rank ", placed.first_rank, " was there")
                           : concat("ranks ", placed.first_rank, "-",
                                    placed.first_rank + placed.ranks - 1, " were there");
}

}  // namespace

Crew::Crew(EventLoop& loop,
           const JobPlan& plan,
           std::vector<Arrival> arrivals,
           std::function<void(std::size_t, const ToLauncher&)> on_message)
    : loop_(loop),
      plan_(plan),
      on_message_(std::move(on_message)),
      ours_(make_hello(0)),
      hosts_(plan.hosts.size()) {
  arrivals.resize(hosts_.size());
  for (std::size_t host = 0; host < hosts_.size(); ++host) {
    connect(host, std::move(arrivals[host]));
  }
  beat();
}

void Crew::connect(std::size_t host, Arrival arrival) {
  HostState& state = hosts_[host];
  AgentLink::Listener listener{[this, host](ToLauncher& message) { handle(host, message); },
                               [this, host](const LinkLoss& loss) { on_lost(host, loss); }};
  if (!arrival.channel && plan_.hosts[host].local) {
    state.link = std::make_unique<AgentLink>(loop_, std::move(listener));
    return;
  }
  if (!arrival.channel) {
    state.link = std::make_unique<AgentLink>(loop_, plan_.hosts[host].command, std::move(listener));
    return;
  }
  state.link = std::make_unique<AgentLink>(loop_, std::move(arrival.channel), std::move(listener));
  state.hello = std::move(arrival.hello);
  state.phase = HostPhase::greeted;
}

Crew::~Crew() { close(0s); }

const std::string& Crew::name(std::size_t host) const { return plan_.placement[host].host.name; }

void Crew::handle(std::size_t host, const ToLauncher& message) {
  HostState& state = hosts_[host];
  if (const auto* hello = std::get_if<Hello>(&message)) {
    state.hello = *hello;
    state.phase = HostPhase::greeted;
  } else if (std::holds_alternative<Ready>(message)) {
    state.phase = HostPhase::ready;
  } else if (std::holds_alternative<Done>(message)) {
    state.phase = HostPhase::done;
  } else if (const auto* failed = std::get_if<StartFailed>(&message)) {
    if (!start_failure_) {
      start_failure_ = failure_of(*failed, name(host), plan_.program);
      start_failure_->hosts = {name(host)};
    }
  } else if (!std::holds_alternative<Heartbeat>(message)) {
    on_message_(host, message);
  }
}

void Crew::on_lost(std::size_t host, const LinkLoss& loss) {
  HostState& state = hosts_[host];
  if (state.phase != HostPhase::done && state.phase != HostPhase::lost) {
    state.phase = HostPhase::lost;
    state.loss = loss;
    first_loss_ = first_loss_.value_or(Clock::now());
  }
}

void Crew::beat() {
  send_to_all(Heartbeat{});
  look_for_silence();
  heartbeat_ = loop_.after(kHeartbeat, [this] { beat(); });
}

// Agents on this machine need no watching: their end is seen at once.
void Crew::look_for_silence() {
  const auto now = Clock::now();
  for (std::size_t host = 0; host < hosts_.size(); ++host) {
    const HostState& state = hosts_[host];
    const bool expected = state.phase == HostPhase::greeted || state.phase == HostPhase::ready;
    const auto heard = std::max(state.link->last_heard(), awake_since_);
    if (expected && !plan_.hosts[host].local && now - heard > kSilenceLimit) {
      LinkLoss loss{.before_hello = false};
      loss.problem = concat("silent for ", elapsed_text(kSilenceLimit));
      on_lost(host, loss);
    }
  }
}

bool Crew::all_in(HostPhase phase) const {
  return std::all_of(hosts_.begin(), hosts_.end(),
                     [phase](const HostState& host) { return host.phase == phase; });
}

bool Crew::all_ready() const {
  return std::all_of(hosts_.begin(), hosts_.end(), [](const HostState& host) {
    return host.phase == HostPhase::ready || host.phase == HostPhase::done;
  });
}

bool Crew::all_over() const {
  return std::all_of(hosts_.begin(), hosts_.end(), [](const HostState& host) {
    return host.phase == HostPhase::done || host.phase == HostPhase::lost;
  });
}

std::optional<Failure> Crew::trouble(std::chrono::milliseconds start_timeout) {
  if (start_failure_) {
    return start_failure_;
  }
  if (auto failure = not_reached(start_timeout)) {
    return failure;
  }
  if (auto failure = other_version()) {
    return failure;
  }
  return host_lost();
}

std::optional<Failure> Crew::not_reached(std::chrono::milliseconds start_timeout) const {
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
  const bool too_long = !waiting.empty() && now - awake_since_ >= start_timeout;
  const bool all_told = !lost.empty() && (waiting.empty() || now - *first_loss_ >= kOthersAnswer);
  if (!too_long && !all_told) {
    return std::nullopt;
  }
  std::vector<Failure> failures;
  for (const std::size_t host : lost) {
    failures.push_back(unreachable(name(host), hosts_[host].loss, plan_.hosts[host].bprun));
  }
  if (too_long) {
    for (const std::size_t host : waiting) {
      failures.push_back({.exit_code = kExitTemporary,
                          .headline = concat("host ", name(host), " gave no answer within ",
                                             elapsed_text(start_timeout), " (--start-timeout)")});
    }
  }
  Failure first = std::move(failures.front());
  for (std::size_t i = 1; i < failures.size(); ++i) {
    first.more.push_back(failures[i].headline);
  }
  for (const std::size_t host : lost) {
    first.hosts.push_back(name(host));
  }
  for (std::size_t i = 0; too_long && i < waiting.size(); ++i) {
    first.hosts.push_back(name(waiting[i]));
  }
  return first;
}

std::optional<Failure> Crew::other_version() const {
  for (std::size_t host = 0; host < hosts_.size(); ++host) {
    if (hosts_[host].phase == HostPhase::greeted) {
      if (std::string text = version_trouble(name(host), hosts_[host].hello, ours_);
          !text.empty()) {
        return Failure{.exit_code = kExitInternal, .headline = std::move(text)};
      }
    }
  }
  return std::nullopt;
}

std::optional<Failure> Crew::host_lost() const {
  for (std::size_t host = 0; host < hosts_.size(); ++host) {
    const HostState& state = hosts_[host];
    if (state.phase == HostPhase::lost && !state.loss.before_hello) {
      Failure failure = lost_after_hello(name(host), state.loss, plan_.hosts[host].local);
      failure.hosts = {name(host)};
      failure.more.push_back(ranks_there(plan_.placement[host]));
      return failure;
    }
  }
  return std::nullopt;
}

void Crew::send_to_all(const ToAgent& message) {
  for (HostState& host : hosts_) {
    host.link->send(message);
  }
}

void Crew::output_taken(std::size_t host, std::uint32_t bytes) {
  std::uint32_t& taken = hosts_[host].output_taken;
  taken += bytes;
  if (taken >= kToldAtOnce) {
    send(host, OutputTaken{std::exchange(taken, 0)});
  }
}

void Crew::dismiss(const End& end, std::chrono::milliseconds limit) {
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

void Crew::close(std::chrono::milliseconds limit) {
  loop_.cancel(heartbeat_);
  // All are told before any is waited for.
  for (HostState& host : hosts_) {
    host.link->hang_up();
  }
  const Deadline deadline(limit);
  for (HostState& host : hosts_) {
    // An ssh that leads nowhere would take its time to see that.
    host.link->wait(host.phase == HostPhase::lost ? Deadline(0ms) : deadline);
  }
}

}  // namespace bp::launcher
