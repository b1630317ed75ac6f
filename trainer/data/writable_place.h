// Where a user who may not write in one folder may write instead.
#pragma once

#include <string>

namespace bp::trainer {

// A path that ends in `name`, in the first of these folders that this process may write to: the
// current one, the user's home, the one for temporary files.
[[nodiscard]] std::string writable_place(const std::string& name);

}  // namespace bp::trainer
