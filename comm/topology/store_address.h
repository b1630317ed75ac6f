// Addresses of stores as text.
#pragma once

#include <string>

#include "bp/environment.h"

namespace bp {

// "host:port" or "[::1]:port"; throws invalid_argument: "is not ...".
[[nodiscard]] StoreAddress parse_store_address(const std::string& text);

}  // namespace bp
