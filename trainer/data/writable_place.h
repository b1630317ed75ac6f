// Suggests a folder to a user who may not write in another one.
#pragma once

#include <string>

namespace bp::trainer {

// Returns a path that ends in `name`, in the first of these folders that this process may write to:
// the current one, the user's home, and the one for temporary files (without a check).
[[nodiscard]] std::string writable_place(const std::string& name);

}  // namespace bp::trainer
