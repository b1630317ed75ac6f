// Options as other launchers spell them, and misspelt ones.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

namespace bp::launcher {

// `arguments` with each option before the program that another launcher spells differently but
// means alike in bprun's words: -np 2 is -n 2, -hosts a,b is -H a,b. As many words as before.
[[nodiscard]] std::vector<std::string> in_own_words(const CLI::App& app,
                                                    std::vector<std::string> arguments);

// What to write instead of `option`, which `app` does not know, as a sentence: what stands for it
// here if it is another launcher's, or the nearest name. Empty where nothing is near.
[[nodiscard]] std::string advice_for(const CLI::App& app, std::string_view option);

// The same for a program that was not found: a tool of bprun or a program of bp.
[[nodiscard]] std::string advice_for_program(std::string_view program);

}  // namespace bp::launcher
