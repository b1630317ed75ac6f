#include "tests/support/places.h"

namespace bp {

std::string source_dir() { return BP_SOURCE_DIR; }
std::string build_dir() { return BP_BUILD_DIR; }

}  // namespace bp
