// Environments as lists of NAME=VALUE. A list keeps the order and every byte of its entries.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bp::launcher {

[[nodiscard]] std::vector<std::string> own_environment();

// Returns `environment` without BP_ENGINE. That variable says which launcher started the process
// that has it. bprun starts its ranks itself, so they must not inherit it.
[[nodiscard]] std::vector<std::string> without_engine(std::vector<std::string> environment);

// Returns `base` with the entries of `changes`. An entry replaces the one of the same name, or is
// appended.
[[nodiscard]] std::vector<std::string> merged_environment(std::vector<std::string> base,
                                                          const std::vector<std::string>& changes);

[[nodiscard]] std::optional<std::string_view> find_environment(
    const std::vector<std::string>& environment, std::string_view name);

[[nodiscard]] std::string_view name_of_entry(std::string_view entry);  // the part before the '='

}  // namespace bp::launcher
