// Keys by which ranks leave something for the launcher's report.
#pragma once

#include <string_view>

namespace bp {

// What the rank whose number follows, and then a dot, is or was in: "collective 3 of world: ...".
inline constexpr std::string_view kUnderWayKeys = "comm/under_way/";

}  // namespace bp
