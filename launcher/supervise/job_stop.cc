#include "launcher/supervise/job_stop.h"

#include <signal.h>

#include <algorithm>

#include "base/text.h"
#include "launcher/hosts/rank_list.h"
#include "launcher/process/signals.h"
#include "launcher/protocol/timing.h"
#include "launcher/report/clock_text.h"

namespace bp::launcher {
namespace {

constexpr auto kTermToKill = 1s;  // after a failure
constexpr auto kAfterKill = 5s;   // for a host to report the end of its ranks
constexpr auto kSayFirst = 50ms;  // so that the line comes before the ends of the killed ranks

}  // namespace

void JobStop::request(int signal) {
  const int running = parts_.ranks.running();
  parts_.output.say(concat("bprun: ", signal_name(signal), ": stopping ", running,
                           running == 1 ? " rank" : " ranks", ", at most ",
                           elapsed_text(parts_.options.grace),
                           signal == SIGINT ? " (press Ctrl-C again to kill)" : ""));
  send(SIGTERM, parts_.options.grace);
  say_kill_at_ =
      Clock::now() + std::max<std::chrono::milliseconds>(parts_.options.grace - kSayFirst, 0ms);
}

void JobStop::kill(int signal, bool again) {
  if (const auto running = parts_.ranks.running_ranks(); !running.empty()) {
    parts_.output.say(concat("bprun: ", signal_name(signal), again ? " again" : "", ": killing ",
                             running.size() == 1 ? "rank " : "ranks ", rank_ranges(running)));
  }
  send(SIGKILL, 0ms);
}

void JobStop::advance() {
  if (stop_at_ && Clock::now() >= *stop_at_) {
    stop_after_failure();
  }
  if (say_kill_at_ && Clock::now() >= *say_kill_at_) {
    say_end_of_grace();
  }
}

std::optional<JobStop::Clock::time_point> JobStop::next_time() const {
  std::optional<Clock::time_point> next;
  for (const auto& time : {stop_at_, say_kill_at_, give_up_at_}) {
    if (time && *time > Clock::now() && (!next || *time < *next)) {
      next = time;
    }
  }
  return next;
}

std::chrono::milliseconds JobStop::took() const {
  return since_ ? std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - *since_)
                : 0ms;
}

void JobStop::stop_after_failure() {
  for (int rank = 0; rank < parts_.ranks.size(); ++rank) {
    const std::size_t host = host_of_rank(parts_.plan.placement, rank);
    parts_.ranks[rank].stopped_after_failure =
        !parts_.ranks[rank].status && parts_.agents.phase(host) != HostPhase::lost;
  }
  send(SIGTERM, kTermToKill);
}

// Only prints: the agents know the grace and kill the ranks.
void JobStop::say_end_of_grace() {
  say_kill_at_.reset();
  if (const auto running = parts_.ranks.running_ranks(); !running.empty()) {
    const bool one = running.size() == 1;
    parts_.output.say(concat("bprun: ", one ? "rank " : "ranks ", rank_ranges(running),
                             one ? " still runs after " : " still run after ",
                             elapsed_text(parts_.options.grace), " (--grace): killing ",
                             one ? "it" : "them"));
  }
}

void JobStop::send(int signal, std::chrono::milliseconds grace) {
  stop_at_.reset();
  say_kill_at_.reset();
  parts_.agents.send_to_all(
      StopRanks{.signal = signal, .grace_ms = static_cast<std::uint32_t>(grace.count())});
  since_ = since_.value_or(Clock::now());
  give_up_at_ = Clock::now() + grace + kAfterKill;
}

}  // namespace bp::launcher
