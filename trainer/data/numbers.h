// Parses and prints numbers as people write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bp::trainer {

// Returns the finite number that all of `text` represents ("3", "-0.5", "1e3"), or nothing.
[[nodiscard]] std::optional<double> number_of(std::string_view text);

[[nodiscard]] std::string with_commas(std::int64_t number);  // "67,349"

}  // namespace bp::trainer
