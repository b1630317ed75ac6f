// The layout of a program's --help.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace bp {

// Returns `help` with every line that is wider than `columns` broken at a blank, or after a comma
// in a long list of choices. The rest is indented as the option's description is (the text after
// two or more blanks), or as the line itself if it has no option.
[[nodiscard]] std::string wrap_help(std::string_view help, std::size_t columns = 80);

}  // namespace bp
