// How long launcher and agent wait for what.
#pragma once

#include <chrono>

namespace bp::launcher {

using namespace std::chrono_literals;

inline constexpr auto kHeartbeat = 1s;
inline constexpr auto kSilenceLimit = 8s;  // then the other end counts as lost: noticed within 10 s
inline constexpr auto kRankSilence = 10s;  // then a rank is named that gives no sign of life
inline constexpr auto kHandshake = 5s;     // for a machine that joins to prove what it knows
inline constexpr auto kLeftoverGrace = 500ms;  // between SIGTERM and SIGKILL for what ranks leave
inline constexpr auto kKillAgain = 20ms;

}  // namespace bp::launcher
