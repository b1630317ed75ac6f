// The tree-structured Parzen estimator: Bergstra et al., Algorithms for Hyper-Parameter
// Optimization, NIPS 2011.
#pragma once

#include <span>

#include "launcher/sweep/sampling/random.h"
#include "launcher/sweep/space/space.h"
#include "launcher/sweep/space/trial.h"

namespace bp::launcher::sweep {

// Returns the parameters of a new choice. The first choices are random. Afterwards the best tenth
// of the trials gives one density and the others another, and of several draws from the first the
// one is taken where the ratio of the two is largest. Trials that have not ended count as bad ones,
// so that trials that run at once differ. Failed trials do not count.
[[nodiscard]] Parameters tpe_parameters(const Block& block,
                                        Direction direction,
                                        std::span<const TrialHistory> history,
                                        Random& random);

}  // namespace bp::launcher::sweep
