// The name and the value of an option as text: numbers, times and sizes as people write them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/number.h"

namespace bp {

// Writes a number as a person would: 0.1, not 0.10000000000000001; a small one as 1e-08.
template <class Number>
[[nodiscard]] std::string number_text(Number value);

// Reads 45s, 1.5h, 500ms or 2h30m: numbers, each before its unit, the longest unit first and none
// twice. A number alone is seconds. Returns nothing for another text, and for over 1000 days.
[[nodiscard]] std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);
[[nodiscard]] std::string duration_text(std::chrono::milliseconds time);  // "1h30m"

// Reads 4096, 64K, 100M or 2G, of 1024 bytes. Returns nothing for another text, and for over 2^50.
[[nodiscard]] std::optional<std::uint64_t> parse_size(std::string_view text);

// Returns the name of an option as it is spelled here: "batch-size" for "--Batch_size=3".
[[nodiscard]] std::string option_name(std::string_view word);

// Finds `wanted`, an option_name(), among the names that other systems give an option. Returns the
// value that it stands for: "bf16" of "bf16=bf16", "" of "fp16-opt"; nothing if it is not there.
[[nodiscard]] std::optional<std::string> value_of_other_name(const std::vector<std::string>& others,
                                                             std::string_view wanted);

// Returns what is between the commas, without blanks around it.
[[nodiscard]] std::vector<std::string> split_at_commas(std::string_view text);

}  // namespace bp
