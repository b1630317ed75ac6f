// "Did you mean ...?"
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bp {

// Returns the name that `wanted` probably means. The first of these rules that finds a name
// decides; upper and lower case count as the same.
//  - The name is what other programs call `wanted` ("cuda" for "gpu").
//  - The name begins with `wanted`, which has three characters or more. The shortest name counts.
//  - The fewest edits make the name of `wanted`: insert, delete or change a character, or swap two
//    neighbours. It may need as many edits as a third of the characters of `wanted`, or one.
// Returns "" if no rule finds one. Names of more than 100 bytes need too many edits.
[[nodiscard]] std::string nearest_name(std::string_view wanted,
                                       const std::vector<std::string>& names);

// Returns "did you mean 'gpu'?" for the nearest name, or `otherwise` without one.
[[nodiscard]] std::string did_you_mean(std::string_view wanted,
                                       const std::vector<std::string>& names,
                                       std::string otherwise = "");

}  // namespace bp
