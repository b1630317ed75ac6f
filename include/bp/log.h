// One line per event, on stderr by default. BP_LOG=error|warn|info|debug sets the level (default:
// warn). The library prints in no other way, and it never both logs and throws the same event.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "bp/export.h"

namespace BP_API bp {

enum class LogLevel : std::uint8_t { error, warn, info, debug };

// Any thread. One write(2) writes the whole line, so lines of several ranks do not mix.
void log(LogLevel level, std::string_view text);
[[nodiscard]] bool log_enabled(LogLevel level);

// Replaces the sink for the whole process; an empty function restores the default. Any thread may
// call the sink, and holds no lock of the library then.
void set_log_sink(std::function<void(LogLevel, std::string_view)> sink);

// Sets a prefix for every text, such as "rank 2/8". It is empty at first.
void set_log_context(std::string_view context);

}  // namespace bp
