// Builds messages.
#pragma once

#include <cstdint>
#include <locale>
#include <span>
#include <sstream>
#include <string>

namespace bp {

// concat("rank ", 3, " of ", 4) is "rank 3 of 4". For messages, not for hot paths. Addresses, keys
// of the store and texts that ranks compare are made by it too, so the program's locale, which may
// write 65,536, does not count.
template <class... Parts>
[[nodiscard]] std::string concat(const Parts&... parts) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  (out << ... << parts);
  return out.str();
}

// Returns "Connection refused" for ECONNREFUSED. Thread-safe.
[[nodiscard]] std::string error_text(int error_number);

// "rank 3", "ranks 1, 2"
[[nodiscard]] std::string ranks_text(std::span<const int> ranks);

// Changes ASCII letters only; other bytes stay as they are.
[[nodiscard]] std::string lower_case(std::string text);

// "512 bytes", "3.4 KiB", "1.2 GiB"
[[nodiscard]] std::string size_text(std::uint64_t bytes);

}  // namespace bp
