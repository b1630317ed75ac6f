// Keys under which ranks write facts for the launcher's report.
#pragma once

#include <string_view>

namespace bp {

// The prefix of "comm/under_way/RANK.", whose value is the operation that the rank is in, or was in
// when it failed: "collective 3 of world: ...".
inline constexpr std::string_view kUnderWayKeys = "comm/under_way/";

}  // namespace bp
