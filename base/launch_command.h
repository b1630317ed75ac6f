// How a program learns the command that bprun was called with.
#pragma once

namespace bp {

// Set by bprun for rank 0: the whole command, bprun's options and the program with its arguments,
// quoted for a shell. Not set when it is longer than the system lets a variable be.
inline constexpr const char* kLaunchCommand = "BP_LAUNCH_COMMAND";

}  // namespace bp
