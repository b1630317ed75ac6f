// The files of page/, carried inside the program.
#pragma once

#include <string_view>

namespace bp::trainer {

[[nodiscard]] std::string_view page_style();
[[nodiscard]] std::string_view page_script();

}  // namespace bp::trainer
