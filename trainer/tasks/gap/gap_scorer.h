// The predictions of a model for GAP: the probabilities of neither, A and B. Scores them on a split
// as GAP's own scorer and Kaggle's competition do.
#pragma once

#include <memory>

#include "trainer/tasks/scorer.h"

namespace bp::trainer {

[[nodiscard]] std::unique_ptr<Scorer> make_gap_scorer(const StoredSplit& scored);

}  // namespace bp::trainer
