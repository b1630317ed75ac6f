// The files of page/, compiled into the program.
#pragma once

#include <string_view>

namespace bp {

[[nodiscard]] std::string_view page_style();
[[nodiscard]] std::string_view page_script();

}  // namespace bp
