#include "launcher/supervise/host_failures.h"

#include <string>
#include <utility>

#include "base/text.h"
#include "launcher/failure/host_texts.h"
#include "launcher/protocol/hello.h"
#include "launcher/protocol/timing.h"
#include "launcher/report/clock_text.h"
#include "launcher/report/exit_code.h"

namespace bp::launcher {
namespace {

// When one host could not be reached, the report waits this long to name the others too.
constexpr auto kOtherLosses = 1s;

std::string ranks_on(const PlacedHost& placed) {
  return placed.ranks == 1 ? concat("rank ", placed.first_rank, " was on that host")
                           : concat("ranks ", placed.first_rank, "-",
                                    placed.first_rank + placed.ranks - 1, " were on that host");
}

}  // namespace

HostFailures::HostFailures(const JobPlan& plan,
                           const std::vector<HostAgent>& hosts,
                           const AgentHeartbeats& heartbeats)
    : plan_(plan), hosts_(hosts), heartbeats_(heartbeats), own_hello_(make_hello(0)) {}

const std::string& HostFailures::name(std::size_t host) const {
  return plan_.placement[host].host.name;
}

std::optional<Failure> HostFailures::find(std::chrono::milliseconds start_timeout) const {
  if (auto failure = not_reached(start_timeout)) {
    return failure;
  }
  if (auto failure = other_version()) {
    return failure;
  }
  return lost_while_running();
}

// Hosts that have failed to connect, and those that have taken too long, in one failure.
std::optional<Failure> HostFailures::not_reached(std::chrono::milliseconds start_timeout) const {
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

std::optional<Failure> HostFailures::other_version() const {
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

std::optional<Failure> HostFailures::lost_while_running() const {
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
std::optional<Failure> HostFailures::own_pause(const LinkLoss& loss) const {
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

}  // namespace bp::launcher
