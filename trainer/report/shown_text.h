// Text made fit to be shown: counting, cutting, mending, escaping.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace bp::trainer {

// In valid UTF-8.
[[nodiscard]] std::size_t code_points(std::string_view text);

// At most `limit` code points; where something was cut, the last of them is an ellipsis.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t limit);

// Each byte that is not part of valid UTF-8 becomes U+FFFD.
[[nodiscard]] std::string mended_utf8(std::string_view text);

// For element content and quoted attributes: & < > " ' are escaped, UTF-8 is mended and control
// characters that HTML forbids become U+FFFD.
[[nodiscard]] std::string html(std::string_view text);

[[nodiscard]] std::string fixed(double value, int digits);  // as "%.*f"
[[nodiscard]] std::string brief(double value);              // as "%.4g", but 12345 as 12345
// 1204.4 to "1,204", 7.36 to "7.4", 0.042 to "0.042".
[[nodiscard]] std::string rate_text(double per_second);
// "0:07", "1:12", "2:05:33".
[[nodiscard]] std::string clock_text(std::chrono::seconds duration);

}  // namespace bp::trainer
