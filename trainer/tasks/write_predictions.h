// Writes predictions.csv.
#pragma once

#include <string>

#include "trainer/tasks/task.h"

namespace bp::trainer {

// Writes every sample of the split once, in the store's order. The scorer has scored this split.
// Throws io.
void write_predictions(const std::string& path,
                       const SampleStore& store,
                       Split split,
                       const Scorer& scorer);

}  // namespace bp::trainer
