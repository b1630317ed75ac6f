// The files of launcher/sweep/report/page, which the page of a sweep contains.
#pragma once

#include <string_view>

namespace bp::launcher::sweep {

[[nodiscard]] std::string_view sweep_style();
[[nodiscard]] std::string_view sweep_script();

}  // namespace bp::launcher::sweep
