// The layout of a program's --help.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace bp {

// `help` with every line that is wider than `columns` broken at blanks; what follows begins where
// the option's description does (two blanks or more before it), or where the line's first word
// does.
[[nodiscard]] std::string wrap_help(std::string_view help, std::size_t columns = 80);

}  // namespace bp
