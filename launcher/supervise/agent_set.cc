#include "launcher/supervise/agent_set.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "launcher/agent/liveness_check.h"
#include "launcher/failure/host_texts.h"
#include "launcher/protocol/hello.h"
#include "launcher/protocol/timing.h"
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

AgentSet::AgentSet(EventLoop& loop,
                   const JobPlan& plan,
                   std::vector<JoinedMachine> arrivals,
                   std::chrono::milliseconds lost_after,
                   std::function<void(std::size_t, const ToLauncher&)> on_message)
    : loop_(loop),
      plan_(plan),
      lost_after_(lost_after),
      on_message_(std::move(on_message)),
      ours_(make_hello(0)),
      hosts_(plan.hosts.size()) {
  arrivals.resize(hosts_.size());
  for (std::size_t host = 0; host < hosts_.size(); ++host) {
    connect(host, std::move(arrivals[host]));
  }
  beat();
  look();
}

void AgentSet::connect(std::size_t host, JoinedMachine arrival) {
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
  state.link->outlast(lost_after_);
  state.hello = std::move(arrival.hello);
  state.phase = HostPhase::greeted;
}

AgentSet::~AgentSet() { close(0s); }

const std::string& AgentSet::name(std::size_t host) const {
  return plan_.placement[host].host.name;
}

void AgentSet::handle(std::size_t host, const ToLauncher& message) {
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

void AgentSet::on_lost(std::size_t host, const LinkLoss& loss) {
  look_for_pause();
  HostState& state = hosts_[host];
  if (state.phase != HostPhase::done && state.phase != HostPhase::lost) {
    state.phase = HostPhase::lost;
    state.loss = loss;
    first_loss_ = first_loss_.value_or(Clock::now());
  }
}

void AgentSet::beat() {
  for (HostState& host : hosts_) {
    if (host.phase == HostPhase::connecting) {
      continue;  // a login shell that reads its input would have it
    }
    const auto silence = std::chrono::floor<std::chrono::milliseconds>(silence_of(host));
    host.link->send(Heartbeat{.lost_after_ms = static_cast<std::uint32_t>(lost_after_.count()),
                              .silent_ms = static_cast<std::uint32_t>(silence.count())});
  }
  heartbeat_ = loop_.after(kHeartbeat, [this] { beat(); });
}

void AgentSet::look() {
  look_for_pause();
  look_for_signs();
  look_for_silence();
  look_ = loop_.after(kLookEvery, [this] { look(); });
}

// By the usual connection.
AgentSet::Clock::duration AgentSet::silence_of(const HostState& host) const {
  return Clock::now() - std::max(host.link->last_heard(), awake_since_);
}

// Agents on this machine need no watching: their end is seen at once.
bool AgentSet::watched(std::size_t host) const {
  const HostPhase phase = hosts_[host].phase;
  return (phase == HostPhase::greeted || phase == HostPhase::ready) && !plan_.hosts[host].local;
}

// In a pause of our own we heard of no host, and they heard nothing of us.
void AgentSet::look_for_pause() {
  if (const auto pause = own_pause_.look(kOwnPause)) {
    awake_since_ = Clock::now();
    paused_for_ = *pause;
  }
}

void AgentSet::resumed() {
  static_cast<void>(own_pause_.look(kOwnPause));
  awake_since_ = Clock::now();
}

// Costs a moment, so only while a host is silent.
void AgentSet::look_for_signs() {
  bool any_silent = false;
  for (std::size_t host = 0; host < hosts_.size(); ++host) {
    any_silent |= watched(host) && silence_of(hosts_[host]) > kCheckAfter;
  }
  if (!any_silent || !signs_) {
    return;
  }
  for (auto& [key, sign] : signs_()) {
    const auto host =
        static_cast<std::size_t>(std::atoi(key.c_str() + std::string_view(kHostAliveKeys).size()));
    if (host < hosts_.size() && hosts_[host].sign != sign) {
      hosts_[host].sign = std::move(sign);
      hosts_[host].sign_at = Clock::now();
    }
  }
}

void AgentSet::look_for_silence() {
  for (std::size_t host = 0; host < hosts_.size(); ++host) {
    const HostState& state = hosts_[host];
    if (watched(host) && silence_of(state) > lost_after_ &&
        Clock::now() - state.sign_at > lost_after_) {
      LinkLoss loss{.before_hello = false, .silent = true};
      loss.problem = concat("silent for ", elapsed_text(lost_after_));
      on_lost(host, loss);
    }
  }
}

bool AgentSet::all_in(HostPhase phase) const {
  return std::all_of(hosts_.begin(), hosts_.end(),
                     [phase](const HostState& host) { return host.phase == phase; });
}

bool AgentSet::all_ready() const {
  return std::all_of(hosts_.begin(), hosts_.end(), [](const HostState& host) {
    return host.phase == HostPhase::ready || host.phase == HostPhase::done;
  });
}

bool AgentSet::all_over() const {
  return std::all_of(hosts_.begin(), hosts_.end(), [](const HostState& host) {
    return host.phase == HostPhase::done || host.phase == HostPhase::lost;
  });
}

std::optional<Failure> AgentSet::trouble(std::chrono::milliseconds start_timeout) {
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
  const bool too_long = !waiting.empty() && now - awake_since_ >= start_timeout;
  const bool all_told = !lost.empty() && (waiting.empty() || now - *first_loss_ >= kOthersAnswer);
  if (!too_long && !all_told) {
    return std::nullopt;
  }
  std::vector<std::pair<std::string, Failure>> failures;
  for (const std::size_t host : lost) {
    failures.emplace_back(name(host),
                          unreachable(name(host), hosts_[host].loss, plan_.hosts[host].bprun));
  }
  for (std::size_t i = 0; too_long && i < waiting.size(); ++i) {
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
      if (std::string text = version_trouble(name(host), hosts_[host].hello, ours_);
          !text.empty()) {
        return Failure{.exit_code = kExitInternal, .headline = std::move(text)};
      }
    }
  }
  return std::nullopt;
}

std::optional<Failure> AgentSet::host_lost() const {
  for (std::size_t host = 0; host < hosts_.size(); ++host) {
    const HostState& state = hosts_[host];
    if (state.phase == HostPhase::lost && !state.loss.before_hello) {
      if (auto pause = own_pause_failure(state.loss)) {
        return pause;
      }
      Failure failure = lost_after_hello(name(host), state.loss, plan_.hosts[host]);
      failure.hosts = {name(host)};
      failure.more.push_back(ranks_there(plan_.placement[host]));
      return failure;
    }
  }
  return std::nullopt;
}

// The agents did what they must when bprun is silent. No host is to blame.
std::optional<Failure> AgentSet::own_pause_failure(const LinkLoss& loss) const {
  const bool ours = loss.gave_up_on_us && paused_for_ > lost_after_ - 2 * kHeartbeat &&
                    Clock::now() - awake_since_ < lost_after_;
  if (!ours) {
    return std::nullopt;
  }
  Failure failure{.exit_code = kExitTemporary,
                  .headline = concat("bprun itself stood still for ", elapsed_text(paused_for_),
                                     ", and its agents ended the ranks")};
  for (std::size_t host = 0; host < hosts_.size(); ++host) {
    if (hosts_[host].phase == HostPhase::lost && hosts_[host].loss.gave_up_on_us) {
      failure.more.push_back(concat("the agent on ", name(host), " ", hosts_[host].loss.last_word));
    }
  }
  failure.hint =
      "a signal stopped bprun, or this machine slept; Ctrl-Z instead of kill -STOP stops the whole "
      "job, and --lost-after 30s waits longer";
  return failure;
}

void AgentSet::send_to_all(const ToAgent& message) {
  for (HostState& host : hosts_) {
    host.link->send(message);
  }
}

void AgentSet::output_taken(std::size_t host, std::uint32_t bytes) {
  std::uint32_t& taken = hosts_[host].output_taken;
  taken += bytes;
  if (taken >= kToldAtOnce) {
    send(host, OutputTaken{std::exchange(taken, 0)});
  }
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
  loop_.cancel(heartbeat_);
  loop_.cancel(look_);
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
