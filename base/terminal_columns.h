// How a rank hears of the terminal that bprun shows its lines on.
#pragma once

namespace bp {

// Set by bprun for rank 0: how wide a line is that may be redrawn by '\r' on stderr, although that
// is a pipe; 0 where nobody would see it redrawn.
inline constexpr const char* kTerminalColumns = "BP_TERMINAL_COLUMNS";

}  // namespace bp
