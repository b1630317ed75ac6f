// The variable that tells a program the command line of bprun.
#pragma once

namespace bp {

// bprun sets it for rank 0 to the whole command: its own options, the program and the program's
// arguments, quoted for a shell. It does not set it if that is longer than a variable may be.
inline constexpr const char* kLaunchCommand = "BP_LAUNCH_COMMAND";

}  // namespace bp
