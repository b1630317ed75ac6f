// Lists of numbers as Python writes them: "[101, 2023, 102]".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bp::trainer {

// Replaces the content of `numbers` by those of the list: decimal, from 0 to 2147483647. Blanks may
// stand around them. Returns what is wrong with the text, "" if nothing is: "has 'x' where a number
// should be, at character 7". `numbers` holds those before it then.
[[nodiscard]] std::string parse_list_literal(std::string_view text,
                                             std::vector<std::int32_t>& numbers);

}  // namespace bp::trainer
