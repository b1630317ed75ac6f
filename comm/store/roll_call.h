// Finds out which ranks of a job have arrived, by a key that each of them sets.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "bp/store.h"

namespace bp {

// Waits for all keys; keys[r] is the one that rank r sets. Returns the ranks whose keys are missing
// after `timeout`, or none if all exist. Throws what Store::wait() throws, except for that timeout.
[[nodiscard]] std::vector<int> missing_ranks(Store& store,
                                             std::span<const std::string> keys,
                                             std::chrono::milliseconds timeout);

}  // namespace bp
