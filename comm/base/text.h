// Building messages.
#pragma once

#include <sstream>
#include <string>

namespace bp {

// concat("rank ", 3, " of ", 4) is "rank 3 of 4". For messages, not for hot paths.
template <class... Parts>
[[nodiscard]] std::string concat(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

// "Connection refused" for ECONNREFUSED; thread-safe.
[[nodiscard]] std::string error_text(int error_number);

}  // namespace bp
