#include "base/text.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <system_error>

#include "base/joined.h"

namespace bp {

std::string error_text(int error_number) { return std::generic_category().message(error_number); }

std::string ranks_text(std::span<const int> ranks) {
  return concat(ranks.size() == 1 ? "rank " : "ranks ", joined(ranks, ", "));
}

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

std::string size_text(std::uint64_t bytes) {
  constexpr std::uint64_t kStep = 1024;
  if (bytes < kStep) {
    return concat(bytes, " bytes");
  }
  auto size = static_cast<double>(bytes);
  const char* unit = "bytes";
  for (const char* larger : {"KiB", "MiB", "GiB", "TiB"}) {
    if (size < kStep) {
      break;
    }
    size /= kStep;
    unit = larger;
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f %s", size, unit);
  return text.data();
}

}  // namespace bp
