// The split that a token file has: its tables TrainQueue, ValidateQueue and TestQueue.
#pragma once

#include <string>

#include "trainer/data/task_data.h"

namespace bp::trainer {

// Returns the split of each sample, in the order of the ids; none, with the reason, unless the
// tables exist and hold each sample once. Throws InputError (65) as TokenSamples does.
[[nodiscard]] FileSplit split_of_token_file(const std::string& path);

}  // namespace bp::trainer
