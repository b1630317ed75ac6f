// One line per event, on stderr by default. Levels are set by BP_LOG=error|warn|info|debug
// (default warn). The library never prints by any other way, and never both logs and throws one
// event.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "bp/export.h"

namespace BP_API bp {

enum class LogLevel : std::uint8_t { error, warn, info, debug };

// Thread-safe. The line is written by one write(2), so lines of many ranks do not mix.
void log(LogLevel level, std::string_view text);
[[nodiscard]] bool log_enabled(LogLevel level);

// Replaces the sink for the whole process; an empty function brings the default back. The sink is
// called without any lock of the library held, from any thread.
void set_log_sink(std::function<void(LogLevel, std::string_view)> sink);

// What stands before each text, "rank 2/8" for instance. Empty until set.
void set_log_context(std::string_view context);

}  // namespace bp
