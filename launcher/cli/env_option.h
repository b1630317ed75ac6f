// The option --env NAME[=VALUE].
#pragma once

#include <string>
#include <vector>

namespace bp::launcher {

// Throws invalid_argument for a request without a name, and for a variable that bprun sets for each
// rank.
void check_variables(const std::vector<std::string>& requests);

// Returns bprun's own words with "--env NAME" for each "--env NAME=VALUE", also where it is spelled
// --env=NAME=VALUE or -x.
[[nodiscard]] std::vector<std::string> without_values_of_env(std::vector<std::string> words);

}  // namespace bp::launcher
