#include "base/report/escape.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "base/utf8.h"

namespace bp {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::string_view kEllipsis = "\xE2\x80\xA6";

bool is_forbidden_control(char c) {
  const auto byte = static_cast<std::uint8_t>(c);
  return (byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7F;
}

}  // namespace

std::size_t code_points(std::string_view text) {
  return text.size() - static_cast<std::size_t>(std::ranges::count_if(text, continues_character));
}

std::string shortened(std::string_view text, std::size_t limit) {
  if (code_points(text) <= limit) return std::string(text);
  std::size_t end = 0;
  for (std::size_t kept = 1; kept < limit; ++kept) {
    do {
      ++end;
    } while (continues_character(text[end]));
  }
  return std::string(text.substr(0, end)).append(limit == 0 ? "" : kEllipsis);
}

std::string repaired_utf8(std::string_view text) {
  std::string out;
  for (;;) {
    const std::size_t bad = find_invalid_utf8(text);
    out.append(text.substr(0, bad));
    if (bad == std::string_view::npos) return out;
    out.append(kReplacement);
    text.remove_prefix(bad + 1);
  }
}

std::string one_line(std::string_view text) {
  const std::string repaired = repaired_utf8(text);
  std::string out;
  for (std::string_view rest = repaired; !rest.empty();) {
    const std::size_t length = character_length(rest);
    out += is_control(rest) ? " " : rest.substr(0, length);
    rest.remove_prefix(length);
  }
  return out;
}

std::string html(std::string_view text) {
  std::string out;
  for (const char c : repaired_utf8(text)) {
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

std::string fixed(double value, int digits) {
  std::array<char, 400> text{};  // the largest double has 309 digits
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

std::string brief(double value, int digits) {
  constexpr double kExact = 1e9;
  const bool whole = std::abs(value) < kExact && value == std::trunc(value);
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), whole ? "%.*f" : "%.*g", whole ? 0 : digits, value);
  return text.data();
}

}  // namespace bp
