// How long launcher and agent wait for what.
#pragma once

#include <algorithm>
#include <chrono>

namespace bp::launcher {

using namespace std::chrono_literals;

inline constexpr std::chrono::milliseconds kHeartbeat = 500ms;
// How often each end asks itself whether it has heard the other.
inline constexpr std::chrono::milliseconds kLookEvery = 250ms;
// Silence after which an agent tries a connection of its own, again every kCheckEvery. Each of them
// may take kCheckLimit.
inline constexpr std::chrono::milliseconds kCheckAfter = 3s;
inline constexpr std::chrono::milliseconds kCheckEvery = 500ms;
inline constexpr std::chrono::milliseconds kCheckLimit = 3s;
// Silence after which the other end counts as lost: --lost-after. With the default a cut cable ends
// a job within 10 s, and a network that is away for 7 s does not.
inline constexpr std::chrono::milliseconds kLostAfter = 9s;
inline constexpr std::chrono::milliseconds kLeastLostAfter = 5s;
inline constexpr std::chrono::milliseconds kMostLostAfter = 24h;
// A pause of our own that is longer is one in which we heard of no host.
inline constexpr std::chrono::milliseconds kOwnPause = 2s;
inline constexpr auto kHandshake = 5s;         // for a machine that joins to prove what it knows
inline constexpr auto kLeftoverGrace = 500ms;  // between SIGTERM and SIGKILL for what ranks leave
inline constexpr auto kKillAgain = 20ms;

// Silence after which a rank is named. A rank may be as silent as its host may.
constexpr std::chrono::milliseconds rank_silence(std::chrono::milliseconds lost_after) {
  return std::max<std::chrono::milliseconds>(10s, lost_after + 1s);
}

// Silence after which the watchdog of a host kills the agent, and what that started.
constexpr std::chrono::milliseconds watchdog_limit(std::chrono::milliseconds lost_after) {
  return lost_after + 1s;
}

// After the loss of a host: how long something of the job may still run there, where the agent
// heard bprun to the end.
constexpr std::chrono::milliseconds lost_host_ends(std::chrono::milliseconds lost_after) {
  return lost_after + 2 * kHeartbeat;
}

}  // namespace bp::launcher
