// The task "classify": one label for each text.
#pragma once

#include <vector>

#include "trainer/tasks/task.h"

namespace bp::trainer {

// Returns the model's class of each of the store's labels. Throws InputError (65) for a label that
// the model does not have.
[[nodiscard]] std::vector<int> map_labels(const SampleStore& store, const BertConfig& config);

}  // namespace bp::trainer
