// The intervals and timeouts of launcher and agent.
#pragma once

#include <algorithm>
#include <chrono>

namespace bp::launcher {

using namespace std::chrono_literals;

inline constexpr std::chrono::milliseconds kHeartbeat = 500ms;
// How often each end checks when it last heard from the other.
inline constexpr std::chrono::milliseconds kLookEvery = 250ms;
// If an agent hears nothing for kCheckAfter, it tries to connect to the launcher every kCheckEvery.
// An attempt may take kCheckLimit.
inline constexpr std::chrono::milliseconds kCheckAfter = 3s;
inline constexpr std::chrono::milliseconds kCheckEvery = 500ms;
inline constexpr std::chrono::milliseconds kCheckLimit = 3s;
// How long an end may be silent before the other end counts it as lost: --lost-after. With the
// default, a cut cable ends a job within 10 s, and a network outage of 7 s does not.
inline constexpr std::chrono::milliseconds kLostAfter = 9s;
inline constexpr std::chrono::milliseconds kLeastLostAfter = 5s;
inline constexpr std::chrono::milliseconds kMostLostAfter = 24h;
// If this process was paused for longer than this, it has heard from no host meanwhile, so the
// silence does not count.
inline constexpr std::chrono::milliseconds kOwnPause = 2s;
inline constexpr auto kHandshake = 5s;  // for a joining machine to authenticate
// Between SIGTERM and SIGKILL for processes that ranks leave behind.
inline constexpr auto kLeftoverGrace = 500ms;
inline constexpr auto kKillAgain = 20ms;

// Returns how long a rank may be silent before bprun names it: longer than its host may.
constexpr std::chrono::milliseconds rank_silence(std::chrono::milliseconds lost_after) {
  return std::max<std::chrono::milliseconds>(10s, lost_after + 1s);
}

// Returns how long an agent may be silent before its host's watchdog kills it and the processes
// that it started.
constexpr std::chrono::milliseconds watchdog_limit(std::chrono::milliseconds lost_after) {
  return lost_after + 1s;
}

// Returns how long processes of the job may still run on a host after bprun has lost it, if its
// agent heard from bprun until then.
constexpr std::chrono::milliseconds lost_host_ends(std::chrono::milliseconds lost_after) {
  return lost_after + 2 * kHeartbeat;
}

}  // namespace bp::launcher
