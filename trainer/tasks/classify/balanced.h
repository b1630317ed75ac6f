// The weights of --class-weights balanced.
#pragma once

#include <vector>

#include "trainer/data/sample_store.h"

namespace bp::trainer {

// Returns for each label of the store rows / (labels * rows with the label), as scikit-learn's
// "balanced" does; 1 for one that no row to train on has. `several`: rows have any number of
// labels; then returns rows without the label / rows with it, so that both answers weigh the same
// in all.
[[nodiscard]] std::vector<double> balanced_weights(const SampleStore& store, bool several);

}  // namespace bp::trainer
