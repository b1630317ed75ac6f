// Prepares texts and numbers for display: counts, cuts, repairs and escapes them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace bp::trainer {

// Returns the number of code points of valid UTF-8.
[[nodiscard]] std::size_t code_points(std::string_view text);

// Returns at most `limit` code points of `text`. If it cuts something, the last code point is an
// ellipsis.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t limit);

// Replaces each byte that is not part of valid UTF-8 by U+FFFD.
[[nodiscard]] std::string repaired_utf8(std::string_view text);

// Escapes & < > " ' for element content and quoted attributes. Repairs UTF-8, and replaces control
// characters that HTML forbids by U+FFFD.
[[nodiscard]] std::string html(std::string_view text);

[[nodiscard]] std::string counted(std::int64_t n, const std::string& singular);  // "1,204 rows"
[[nodiscard]] std::string percent_text(std::int64_t part, std::int64_t whole);   // "12.5 %"
[[nodiscard]] std::string fixed(double value, int digits);                       // as "%.*f"
[[nodiscard]] std::string brief(double value);  // as "%.4g", but whole numbers in full: 12345
// Returns "1,204" for 1204.4, "7.4" for 7.36, "0.042" for 0.042.
[[nodiscard]] std::string rate_text(double per_second);
// Returns "0:07", "1:12", "2:05:33".
[[nodiscard]] std::string clock_text(std::chrono::seconds duration);

}  // namespace bp::trainer
