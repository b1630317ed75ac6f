#include "trainer/report/shown_text.h"

#include <algorithm>
#include <cstdint>

#include "trainer/text/utf8.h"

namespace bp::trainer {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::string_view kEllipsis = "\xE2\x80\xA6";

bool is_continuation(char c) { return (static_cast<std::uint8_t>(c) & 0xC0U) == 0x80U; }

bool is_forbidden_control(char c) {
  const auto byte = static_cast<std::uint8_t>(c);
  return (byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7F;
}

}  // namespace

std::size_t code_points(std::string_view text) {
  return text.size() -
         static_cast<std::size_t>(std::count_if(text.begin(), text.end(), is_continuation));
}

std::string shortened(std::string_view text, std::size_t limit) {
  if (code_points(text) <= limit) {
    return std::string(text);
  }
  std::size_t end = 0;
  for (std::size_t kept = 1; kept < limit; ++kept) {
    do {
      ++end;
    } while (is_continuation(text[end]));
  }
  return std::string(text.substr(0, end)).append(limit == 0 ? "" : kEllipsis);
}

std::string mended_utf8(std::string_view text) {
  std::string out;
  for (;;) {
    const std::size_t bad = find_invalid_utf8(text);
    out.append(text.substr(0, bad));
    if (bad == std::string_view::npos) {
      return out;
    }
    out.append(kReplacement);
    text.remove_prefix(bad + 1);
  }
}

std::string html(std::string_view text) {
  std::string out;
  for (const char c : mended_utf8(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        if (is_forbidden_control(c)) {
          out += kReplacement;
        } else {
          out += c;
        }
    }
  }
  return out;
}

}  // namespace bp::trainer
