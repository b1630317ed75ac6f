#include "launcher/plan/ask_hosts.h"

#include <algorithm>
#include <memory>
#include <variant>

#include "base/text.h"
#include "bp/error.h"
#include "launcher/agent/link.h"
#include "launcher/failure/host_texts.h"
#include "launcher/network/network_probe.h"
#include "launcher/protocol/hello.h"
#include "launcher/protocol/timing.h"
#include "launcher/report/clock_text.h"

namespace bp::launcher {
namespace {

constexpr auto kSurveyEnds = 1s;

class HostAsker {
 public:
  HostAsker(const JobPlan& plan, const AskHostsOptions& options)
      : plan_(plan), options_(options), hosts_(plan.hosts.size()) {
    for (std::size_t host = 0; host < hosts_.size(); ++host) {
      ask(host);
    }
    beat();
  }

  HostAnswers run() {
    const Deadline deadline(options_.limit);
    wait_until(deadline, [this] { return std::ranges::all_of(hosts_, &State::over); });
    for (State& host : hosts_) {
      if (!host.over) {
        host.answer.problem = concat("no answer within ", elapsed_text(options_.limit),
                                     host.answer.hello ? ", although its agent has started" : "");
        host.answer.hint = "give a longer --start-timeout, or look at that host's load and disks";
      }
    }
    HostAnswers answers;
    if (options_.network) {
      answers.reach = try_each_other();
    }
    hang_up();
    for (State& host : hosts_) {
      answers.hosts.push_back(std::move(host.answer));
    }
    return answers;
  }

 private:
  struct State {
    std::unique_ptr<AgentLink> link;
    HostAnswer answer;
    double asked_at = 0;
    bool over = false;
    bool lost = false;
  };

  template <class Condition>
  void wait_until(const Deadline& deadline, Condition condition) {
    while (!condition() && !deadline.passed()) {
      loop_.run_once(std::min<std::chrono::milliseconds>(1s, deadline.left()));
    }
  }

  // Without heartbeats an agent would count bprun as lost while other hosts still answer.
  void beat() {
    for (State& host : hosts_) {
      if (host.link && host.answer.hello) host.link->send(Heartbeat{});
    }
    loop_.after(kHeartbeat, [this] { beat(); });
  }

  // Unset if all hosts are on this machine.
  std::optional<Reach> try_each_other() {
    std::vector<HostToProbe> hosts;
    std::string seen;
    for (std::size_t host = 0; host < hosts_.size(); ++host) {
      if (hosts_[host].answer.facts) {
        const Hello& hello = *hosts_[host].answer.hello;
        hosts.push_back(host_to_probe(plan_.placement[host].host, hello, options_.interface));
        seen = seen.empty() ? hello.client_address : seen;
        probed_.push_back(host);
      }
    }
    probe_ =
        std::make_unique<NetworkProbe>(loop_, hosts, launcher_to_probe(seen, options_.interface),
                                       [this](std::size_t host, const ToAgent& message) {
                                         hosts_[probed_[host]].link->send(message);
                                       });
    wait_until(Deadline(NetworkProbe::kLongest + kSurveyEnds), [this] {
      const auto is_lost = [this](std::size_t host) { return hosts_[host].lost; };
      return probe_->done() || std::ranges::any_of(probed_, is_lost);
    });
    if (!probe_->done()) {
      return Reach{.addresses = {},
                   .failure = Failure{
                       .headline = "a host was lost while the hosts tried to reach each other"}};
    }
    const Reach& reach = probe_->reach();
    return reach.failure || !reach.addresses.back().empty() ? std::optional(reach) : std::nullopt;
  }

  // The number of a host for NetworkProbe, which knows only the hosts that take part.
  [[nodiscard]] std::size_t probed(std::size_t host) const {
    return static_cast<std::size_t>(std::ranges::find(probed_, host) - probed_.begin());
  }

  void ask(std::size_t host) {
    State& state = hosts_[host];
    try {
      state.link = std::make_unique<AgentLink>(
          loop_, plan_.hosts[host].command,
          AgentLink::Listener{[this, host](ToLauncher& message) { on_message(host, message); },
                              [this, host](const LinkLoss& loss) { on_lost(host, loss); }});
    } catch (const Error& error) {  // ssh itself cannot be run
      state.answer.problem = error.what();
      state.over = true;
    }
  }

  void on_message(std::size_t host, const ToLauncher& message) {
    State& state = hosts_[host];
    if (const auto* hello = std::get_if<Hello>(&message)) {
      state.answer.hello = *hello;
      state.answer.took =
          std::chrono::duration_cast<std::chrono::milliseconds>(EventLoop::Clock::now() - began_);
      state.answer.problem = version_trouble(name(host), *hello, own_hello_);
      state.over = !state.answer.problem.empty();
      if (!state.over) {
        state.asked_at = wall_time();
        state.link->send(Ask{options_.question});
      }
    } else if (const auto* facts = std::get_if<Facts>(&message)) {
      state.answer.facts = facts_of(facts->json);
      const double way = wall_time() - state.asked_at - state.answer.facts->seconds;
      state.answer.clock_margin = way / 2;
      state.answer.clock_ahead = state.answer.facts->clock - state.asked_at - way / 2;
      state.over = true;
    } else if (const auto* ready = std::get_if<ProbeReady>(&message)) {
      probe_->handle(probed(host), *ready);
    } else if (const auto* report = std::get_if<ProbeReport>(&message)) {
      probe_->handle(probed(host), *report);
    }
  }

  void on_lost(std::size_t host, const LinkLoss& loss) {
    State& state = hosts_[host];
    state.lost = true;
    if (state.over) {
      return;
    }
    const AgentStart& start = plan_.hosts[host];
    const Failure failure = loss.before_hello ? unreachable(name(host), loss, start.bprun)
                                              : lost_after_hello(name(host), loss, start);
    state.answer.problem = failure.headline;
    state.answer.hint = failure.hint;
    state.over = true;
  }

  // All agents begin to end before any is waited for.
  void hang_up() {
    for (State& host : hosts_) {
      if (host.link) host.link->hang_up();
    }
    const Deadline deadline(kSurveyEnds);
    for (State& host : hosts_) {
      if (host.link) host.link->wait(deadline);
    }
  }

  [[nodiscard]] const std::string& name(std::size_t host) const {
    return plan_.placement[host].host.name;
  }

  const JobPlan& plan_;
  const AskHostsOptions& options_;
  const Hello own_hello_ = make_hello(0);
  const EventLoop::Clock::time_point began_ = EventLoop::Clock::now();
  EventLoop loop_;
  std::vector<State> hosts_;
  std::vector<std::size_t> probed_;  // those that take part in the probe
  std::unique_ptr<NetworkProbe> probe_;
};

}  // namespace

HostAnswers ask_hosts(const JobPlan& plan, const AskHostsOptions& options) {
  return HostAsker(plan, options).run();
}

}  // namespace bp::launcher
