#include "launcher/sweep/space/trial.h"

#include <array>
#include <cstddef>

namespace bp::launcher::sweep {
namespace {

constexpr std::array<std::string_view, kTrialStates> kStateNames{
    "waiting", "running", "finished", "failed", "stopped", "paused", "skipped"};
constexpr std::array<std::string_view, 5> kReasonNames{"none", "rule", "rung", "user",
                                                       "sweep_ends"};

template <class Named, std::size_t n>
std::optional<Named> named(const std::array<std::string_view, n>& names, std::string_view name) {
  for (std::size_t i = 0; i < n; ++i) {
    if (names[i] == name) return static_cast<Named>(i);
  }
  return std::nullopt;
}

}  // namespace

std::string_view name_of(TrialState state) {
  return kStateNames.at(static_cast<std::size_t>(state));
}

std::optional<TrialState> trial_state_of(std::string_view name) {
  return named<TrialState>(kStateNames, name);
}

std::string_view name_of(StopReason reason) {
  return kReasonNames.at(static_cast<std::size_t>(reason));
}

std::optional<StopReason> stop_reason_of(std::string_view name) {
  return named<StopReason>(kReasonNames, name);
}

}  // namespace bp::launcher::sweep
