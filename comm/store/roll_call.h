// Which ranks of a job have come, by the keys that each of them sets.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "bp/store.h"

namespace bp {

// Waits for all keys, one a rank, in their order. Returns the ranks whose key is missing after
// `timeout`: none where all is well. Throws what Store::wait does, but for that timeout.
[[nodiscard]] std::vector<int> missing_ranks(Store& store,
                                             std::span<const std::string> keys,
                                             std::chrono::milliseconds timeout);

}  // namespace bp
