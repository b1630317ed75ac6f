// How much each parameter matters for the result.
#pragma once

#include <string>
#include <vector>

#include "launcher/sweep/state/trial_record.h"

namespace bp::launcher::sweep {

struct Importance {
  std::string name = {};
  double share = 0;  // of the explained variance
};

struct Importances {
  std::vector<Importance> parameters = {};  // the largest first; shares sum to 1
  double explained = 0;  // share of the results' variance that the forest explains out of bag
};

inline constexpr std::size_t kLeastTrialsForImportance = 8;

// Fits a forest of 64 regression trees to the trials with a result, each to a bootstrap sample, and
// adds up by how much the splits at each parameter reduce the variance. Numbers are split by order,
// texts one value against the others; a missing parameter is a value of its own. Deterministic.
// Returns no parameters if there are fewer than kLeastTrialsForImportance trials with a result, or
// all results are equal.
[[nodiscard]] Importances importances_of(const std::vector<TrialRecord>& trials);

}  // namespace bp::launcher::sweep
