#include "comm/store/quote.h"

#include <algorithm>

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
  constexpr std::size_t kMost = 20;
  std::string text;
  for (std::size_t i = 0; i < std::min(keys.size(), kMost); ++i) {
    text += concat(i == 0 ? "" : ", ", in_quotes(keys[i]));
  }
  return keys.size() > kMost ? concat(text, " and ", keys.size() - kMost, " more") : text;
}

std::string seconds_text(std::chrono::milliseconds duration) {
  return concat(static_cast<double>(duration.count()) / 1000, " s");
}

}  // namespace bp
