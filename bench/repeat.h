// Measures actions that take nanoseconds.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>

namespace bp::bench {

inline constexpr int kCallsARound = 1'000'000;
inline constexpr int kRounds = 7;

// Returns the nanoseconds per call of action(i), where i counts the calls of a round: the median of
// the rounds.
template <class Action>
double nanoseconds_a_call(const Action& action) {
  std::array<double, kRounds> rounds = {};
  for (double& round : rounds) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kCallsARound; ++i) action(i);
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    round = took.count() / kCallsARound;
  }
  std::ranges::nth_element(rounds, rounds.begin() + kRounds / 2);
  return rounds[kRounds / 2];
}

}  // namespace bp::bench
