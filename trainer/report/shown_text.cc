#include "trainer/report/shown_text.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "base/text.h"
#include "trainer/data/numbers.h"
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

std::string repaired_utf8(std::string_view text) {
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

std::string counted(std::int64_t n, const std::string& singular) {
  return concat(with_commas(n), ' ', singular, n == 1 ? "" : "s");
}

std::string percent_text(std::int64_t part, std::int64_t whole) {
  constexpr double kWhole = 100;
  const double share = whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
  return fixed(kWhole * share, 1) + " %";
}

std::string fixed(double value, int digits) {
  char text[400];  // the largest double has 309 digits
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string brief(double value) {
  constexpr double kExact = 1e9;
  const bool whole = std::abs(value) < kExact && value == std::trunc(value);
  char text[32];
  std::snprintf(text, sizeof text, whole ? "%.0f" : "%.4g", value);
  return text;
}

std::string rate_text(double per_second) {
  constexpr double kLargest = 1e15;
  if (!(per_second >= 100 && per_second < kLargest)) {
    return fixed(per_second, per_second >= 1 ? 1 : 3);
  }
  return with_commas(std::llround(per_second));
}

std::string clock_text(std::chrono::seconds duration) {
  const auto seconds = std::max<std::int64_t>(duration.count(), 0);
  constexpr std::int64_t kMinute = 60;
  constexpr std::int64_t kHour = 3600;
  const auto two_digits = [](std::int64_t n) { return concat(n < 10 ? "0" : "", n); };
  if (seconds < kHour) {
    return concat(seconds / kMinute, ':', two_digits(seconds % kMinute));
  }
  return concat(seconds / kHour, ':', two_digits(seconds % kHour / kMinute), ':',
                two_digits(seconds % kMinute));
}

}  // namespace bp::trainer
