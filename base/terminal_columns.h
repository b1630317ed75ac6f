// The variable that tells a rank about the terminal on which bprun shows its lines.
#pragma once

namespace bp {

// bprun sets it for rank 0 to the width of a line that the rank may redraw with '\r' on stderr,
// although its stderr is a pipe. It is 0 if bprun shows the lines on no terminal.
inline constexpr const char* kTerminalColumns = "BP_TERMINAL_COLUMNS";

}  // namespace bp
