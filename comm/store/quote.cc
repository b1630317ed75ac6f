#include "comm/store/quote.h"

#include <algorithm>

#include "base/joined.h"
#include "base/text.h"

namespace bp {

std::string in_quotes(std::string_view key) {
  constexpr std::size_t kLongest = 100;
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "\"";
  for (const char c : key.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text += {'\\', c};
    } else if (byte < 0x20 || byte > 0x7e) {
      text += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    } else {
      text += c;
    }
  }
  return text += key.size() > kLongest ? "...\"" : "\"";
}

std::string quoted_list(const std::vector<std::string>& keys) {
  return joined_up_to(20, keys, in_quotes);
}

std::string seconds_text(std::chrono::milliseconds duration) {
  return concat(static_cast<double>(duration.count()) / 1000, " s");
}

}  // namespace bp
