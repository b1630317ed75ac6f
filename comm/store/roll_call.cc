#include "comm/store/roll_call.h"

#include <cstddef>

#include "bp/error.h"

namespace bp {

std::vector<int> missing_ranks(Store& store,
                               std::span<const std::string> keys,
                               std::chrono::milliseconds timeout) {
  std::vector<int> missing;
  try {
    store.wait(keys, timeout);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::timeout) throw;
    for (std::size_t rank = 0; rank < keys.size(); ++rank) {
      if (!store.find(keys[rank])) missing.push_back(static_cast<int>(rank));
    }
  }
  return missing;
}

}  // namespace bp
