#include "launcher/sweep/space/trial.h"

#include <array>

namespace bp::launcher::sweep {
namespace {

constexpr std::array<std::string_view, 6> kStateNames{"waiting", "running", "finished",
                                                      "failed",  "stopped", "paused"};

}  // namespace

std::string_view name_of(TrialState state) {
  return kStateNames.at(static_cast<std::size_t>(state));
}

std::optional<TrialState> trial_state_of(std::string_view name) {
  for (std::size_t i = 0; i < kStateNames.size(); ++i) {
    if (kStateNames[i] == name) return static_cast<TrialState>(i);
  }
  return std::nullopt;
}

}  // namespace bp::launcher::sweep
