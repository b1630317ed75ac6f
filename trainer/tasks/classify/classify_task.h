// The task "classify": one label for each text.
#pragma once

#include <string>
#include <vector>

#include "trainer/tasks/task.h"

namespace bp::trainer {

// Returns the model's class of each of a store's labels. Throws InputError (65) for a label that
// the model does not have.
[[nodiscard]] std::vector<int> map_labels(const std::vector<std::string>& names,
                                          const BertConfig& config);

}  // namespace bp::trainer
