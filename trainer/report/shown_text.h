// Writes counts, shares, rates and times for people.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/report/escape.h"

namespace bp::trainer {

[[nodiscard]] std::string counted(std::int64_t n, const std::string& singular);  // "1,204 rows"
[[nodiscard]] std::string percent_text(std::int64_t part, std::int64_t whole);   // "12.5 %"
// Returns "1,204" for 1204.4, "7.4" for 7.36, "0.042" for 0.042.
[[nodiscard]] std::string rate_text(double per_second);
// Returns "0.8123", "1.031e+13" for a large score, and "-" for none.
[[nodiscard]] std::string score_text(double score);
// Returns "0:07", "1:12", "2:05:33".
[[nodiscard]] std::string clock_text(std::chrono::seconds duration);

}  // namespace bp::trainer
