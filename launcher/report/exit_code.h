// The exit codes of bprun that are not a rank's own.
#pragma once

namespace bp::launcher {

inline constexpr int kExitUsage = 2;         // options, host list
inline constexpr int kExitBadContent = 65;   // a program's, of its input
inline constexpr int kExitNoInput = 66;      // a file or folder that is not there
inline constexpr int kExitUnavailable = 69;  // a GPU that is not there
inline constexpr int kExitInternal = 70;     // our own or a communication error
inline constexpr int kExitOutputLost = 74;  // all ranks ended well, but output could not be written
inline constexpr int kExitTemporary = 75;   // a host lost or out of reach; stopped and saved
inline constexpr int kExitNotExecutable = 126;
inline constexpr int kExitNotFound = 127;
inline constexpr int kExitSignal = 128;  // plus the signal's number
inline constexpr int kExitInterrupted = 130;

}  // namespace bp::launcher
