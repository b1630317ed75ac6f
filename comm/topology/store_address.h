// Parses the address of a store.
#pragma once

#include <string>

#include "bp/environment.h"

namespace bp {

// Parses "host:port" or "[::1]:port". Throws invalid_argument with a text that begins "is not".
[[nodiscard]] StoreAddress parse_store_address(const std::string& text);

}  // namespace bp
