// Parses and prints sets of ranks. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bp::launcher {

// Returns "0-2,5" for 0, 1, 2, 5. `ranks` must be in ascending order.
[[nodiscard]] std::string rank_ranges(const std::vector<int>& ranks);

// Parses such a list, in any order and with repetitions; returns each rank once, in ascending
// order. Throws invalid_argument naming `option`.
[[nodiscard]] std::vector<int> parse_rank_list(std::string_view text, std::string_view option);

}  // namespace bp::launcher
