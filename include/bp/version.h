// The version of these headers and of the library that the program loaded. Before 1.0 a minor
// version may change the interface; a patch version never does.
#pragma once

#include <string_view>

#include "bp/export.h"

// Read by CMakeLists.txt too: this is the one place where the version stands.
#define BP_VERSION_MAJOR 0
#define BP_VERSION_MINOR 1
#define BP_VERSION_PATCH 0
#define BP_VERSION "0.1.0"

namespace BP_API bp {

[[nodiscard]] std::string_view library_version();  // "0.1.0"

}  // namespace bp
