#include "launcher/supervise/agent_heartbeats.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "launcher/agent/liveness_check.h"
#include "launcher/protocol/timing.h"
#include "launcher/report/clock_text.h"

namespace bp::launcher {

AgentHeartbeats::AgentHeartbeats(EventLoop& loop,
                                 const JobPlan& plan,
                                 std::vector<HostAgent>& hosts,
                                 std::chrono::milliseconds lost_after,
                                 std::function<void(std::size_t, const LinkLoss&)> on_silent)
    : loop_(loop),
      plan_(plan),
      hosts_(hosts),
      lost_after_(lost_after),
      on_silent_(std::move(on_silent)) {
  beat_timer_ = loop_.after(0ms, [this] { beat(); });
  look_timer_ = loop_.after(0ms, [this] { look(); });
}

void AgentHeartbeats::stop() {
  loop_.cancel(beat_timer_);
  loop_.cancel(look_timer_);
}

void AgentHeartbeats::beat() {
  for (HostAgent& host : hosts_) {
    if (host.phase == HostPhase::connecting) {
      continue;  // a login shell that reads its input would take the bytes
    }
    const auto silence = std::chrono::floor<std::chrono::milliseconds>(silence_of(host));
    host.link->send(Heartbeat{.lost_after_ms = static_cast<std::uint32_t>(lost_after_.count()),
                              .silent_ms = static_cast<std::uint32_t>(silence.count())});
  }
  beat_timer_ = loop_.after(kHeartbeat, [this] { beat(); });
}

void AgentHeartbeats::look() {
  look_for_pause();
  look_for_signs();
  look_for_silence();
  look_timer_ = loop_.after(kLookEvery, [this] { look(); });
}

// While this process was paused, it received nothing from hosts and sent nothing to them.
void AgentHeartbeats::look_for_pause() {
  if (const auto pause = own_pause_.look(kOwnPause)) {
    awake_since_ = Clock::now();
    last_pause_ = *pause;
  }
}

void AgentHeartbeats::resumed() {
  static_cast<void>(own_pause_.look(kOwnPause));
  awake_since_ = Clock::now();
}

// On its own connection.
AgentHeartbeats::Clock::duration AgentHeartbeats::silence_of(const HostAgent& host) const {
  return Clock::now() - std::max(host.link->last_heard(), awake_since_);
}

// Before it is ready, an agent may be busy: it lists the GPUs, for instance. Another machine may be
// cut off even then.
bool AgentHeartbeats::watched(std::size_t host) const {
  const HostPhase phase = hosts_[host].phase;
  return phase == HostPhase::ready || (phase == HostPhase::greeted && !plan_.hosts[host].local);
}

void AgentHeartbeats::look_for_signs() {
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

void AgentHeartbeats::look_for_silence() {
  for (std::size_t host = 0; host < hosts_.size(); ++host) {
    const HostAgent& agent = hosts_[host];
    if (watched(host) && silence_of(agent) > lost_after_ &&
        Clock::now() - agent.sign_at > lost_after_) {
      LinkLoss loss{.before_hello = false, .silent = true};
      loss.problem = concat("silent for ", elapsed_text(lost_after_));
      on_silent_(host, loss);
    }
  }
}

}  // namespace bp::launcher
