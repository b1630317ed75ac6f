#include "launcher/tools/survey.h"

#include <algorithm>
#include <memory>

#include "bp/error.h"
#include "comm/base/text.h"
#include "launcher/agent/hello.h"
#include "launcher/agent/link.h"
#include "launcher/job/job_texts.h"
#include "launcher/report/clock_text.h"

namespace bp::launcher {
namespace {

using namespace std::chrono_literals;

constexpr auto kAgentsEnd = 1s;

double now_in_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

class Survey {
 public:
  Survey(const JobPlan& plan, const Question& question)
      : plan_(plan), question_(question), hosts_(plan.hosts.size()) {
    for (std::size_t host = 0; host < hosts_.size(); ++host) {
      ask(host);
    }
  }

  std::vector<HostAnswer> run(std::chrono::milliseconds limit) {
    const Deadline deadline(limit);
    const auto waited_for = [](const State& host) { return !host.over; };
    while (std::ranges::any_of(hosts_, waited_for) && !deadline.passed()) {
      loop_.run_once(std::min<std::chrono::milliseconds>(1s, deadline.left()));
    }
    for (State& host : hosts_) {
      if (!host.over) {
        host.answer.problem = concat("no answer within ", elapsed_text(limit),
                                     host.answer.hello ? ", though its agent is there" : "");
        host.answer.hint = "a longer --start-timeout, or a look at that host's load and disks";
      }
    }
    hang_up();
    std::vector<HostAnswer> answers;
    for (State& host : hosts_) {
      answers.push_back(std::move(host.answer));
    }
    return answers;
  }

 private:
  struct State {
    std::unique_ptr<AgentLink> link;
    HostAnswer answer;
    double asked_at = 0;
    bool over = false;
  };

  void ask(std::size_t host) {
    State& state = hosts_[host];
    try {
      state.link = std::make_unique<AgentLink>(
          loop_, plan_.hosts[host].command,
          AgentLink::Listener{[this, host](ToLauncher& message) { on_message(host, message); },
                              [this, host](const LinkLoss& loss) { on_lost(host, loss); }});
    } catch (const Error& error) {  // not even ssh is there
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
      state.answer.problem = version_trouble(name(host), *hello, ours_);
      state.over = !state.answer.problem.empty();
      if (!state.over) {
        state.asked_at = now_in_seconds();
        state.link->send(Ask{question_});
      }
    } else if (const auto* facts = std::get_if<Facts>(&message)) {
      state.answer.facts = facts_of(facts->json);
      const double way = now_in_seconds() - state.asked_at - state.answer.facts->seconds;
      state.answer.clock_margin = way / 2;
      state.answer.clock_ahead = state.answer.facts->clock - state.asked_at - way / 2;
      state.over = true;
    }
  }

  void on_lost(std::size_t host, const LinkLoss& loss) {
    State& state = hosts_[host];
    if (state.over) {
      return;
    }
    const HostPlan& plan = plan_.hosts[host];
    const Failure failure = loss.before_hello ? unreachable(name(host), loss, plan.bprun)
                                              : lost_after_hello(name(host), loss, plan.local);
    state.answer.problem = failure.headline;
    state.answer.hint = failure.hint;
    state.over = true;
  }

  // All are told before any is waited for.
  void hang_up() {
    for (State& host : hosts_) {
      if (host.link) host.link->hang_up();
    }
    const Deadline deadline(kAgentsEnd);
    for (State& host : hosts_) {
      if (host.link) host.link->wait(deadline);
    }
  }

  [[nodiscard]] const std::string& name(std::size_t host) const {
    return plan_.placement[host].host.name;
  }

  const JobPlan& plan_;
  const Question& question_;
  const Hello ours_ = make_hello(0);
  const EventLoop::Clock::time_point began_ = EventLoop::Clock::now();
  EventLoop loop_;
  std::vector<State> hosts_;
};

}  // namespace

std::vector<HostAnswer> ask_hosts(const JobPlan& plan,
                                  const Question& question,
                                  std::chrono::milliseconds limit) {
  return Survey(plan, question).run(limit);
}

}  // namespace bp::launcher
