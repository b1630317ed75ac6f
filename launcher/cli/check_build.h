// bprun --check-build: what this build has in it.
#pragma once

#include <string>

namespace bp::launcher {

// Lines for people, or one JSON object.
[[nodiscard]] std::string check_build(bool json);

}  // namespace bp::launcher
