// bprun --check-build: what this build contains.
#pragma once

#include <string>

namespace bp::launcher {

// Returns lines for people, or one JSON object.
[[nodiscard]] std::string check_build(bool json);

}  // namespace bp::launcher
