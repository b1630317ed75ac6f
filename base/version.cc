#include "bp/version.h"

namespace bp {

std::string_view library_version() { return BP_VERSION; }

}  // namespace bp
