// Sets of ranks as people write them. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bp::launcher {

// "0-2,5"; ascending ranks.
[[nodiscard]] std::string rank_ranges(const std::vector<int>& ranks);

// The reverse, in any order, each once. Throws invalid_argument naming `option`.
[[nodiscard]] std::vector<int> parse_rank_list(std::string_view text, std::string_view option);

}  // namespace bp::launcher
