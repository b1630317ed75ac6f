// Prints a table of options: as JSON for --help=json, and as parts of a bash completion.
// Include it only in .cc files, because it includes a large header.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/options/option_set.h"

namespace bp {

// Returns `help` with every line that is wider than `columns` broken at a blank, or after a comma
// in a long list of choices. The rest is indented as the option's description is (the text after
// two or more blanks), or as the line itself if it has no option.
[[nodiscard]] std::string wrap_help(std::string_view help, std::size_t columns = 80);

// Returns the section about environment variables, for the end of --help.
[[nodiscard]] std::string variables_help();

// Returns what --help=json has of a command; docs/options.md has the layout.
[[nodiscard]] nlohmann::ordered_json to_json(const OptionSet& set);

// Returns the text of --help=json: an object with the version and these commands.
[[nodiscard]] std::string help_json(const std::string& program,
                                    const nlohmann::ordered_json& commands);

// Parts of a bash function that completes a command line.
struct BashWords {
  std::string options;  // "--help --batch --lr"
  std::string valued;   // those of them that take the next word as their value
  std::string values;   // branches of `case $before in` that offer the value of an option
};
// `options`: those of a command in to_json().
[[nodiscard]] BashWords bash_words(const nlohmann::ordered_json& options);

}  // namespace bp
