// Options of other launchers, and misspelt options.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

namespace bp::launcher {

// Replaces each option of another launcher that has the same meaning as one of bprun by bprun's
// own: -np 2 becomes -n 2, -hosts a,b becomes -H a,b. Leaves the program and its arguments alone.
// The number of words stays.
[[nodiscard]] std::vector<std::string> with_own_options(const CLI::App& app,
                                                        std::vector<std::string> arguments);

// What to write instead of `option`, which `app` does not have: what bprun has for an option of
// another launcher, or the most similar option of `app`. Empty if none is similar.
[[nodiscard]] std::string advice_for(const CLI::App& app, std::string_view option);

// The same for a program that was not found: the most similar tool of bprun or program of bp.
[[nodiscard]] std::string advice_for_program(std::string_view program);

}  // namespace bp::launcher
