// The weights in a model's folder, and those beside which the adapters in a folder were trained.
#pragma once

#include <string>

#include "trainer/commands/model_source.h"

namespace bp::trainer {

// Returns the folder's file with the weights or their index, or "". Throws InputError (65) for
// weights in a format that bp does not read.
[[nodiscard]] std::string find_weights(const std::string& folder);

// Returns the hash of a file of weights, or of those that an index names.
[[nodiscard]] std::string hash_weights(const std::string& weights);

// Completes the source of a folder of adapters: their configuration, and the base's folder and
// weights. Throws InputError: 66 for a file that is missing, and 65 for one that is broken or for
// another base.
void find_adapters(ModelSource& source);

}  // namespace bp::trainer
