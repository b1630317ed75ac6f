// The exit codes of bprun itself, not of a rank.
#pragma once

namespace bp::launcher {

inline constexpr int kExitUsage = 2;         // wrong options or host list
inline constexpr int kExitBadContent = 65;   // returned by a program for bad input
inline constexpr int kExitNoInput = 66;      // a file or folder does not exist
inline constexpr int kExitUnavailable = 69;  // a GPU is not available
inline constexpr int kExitInternal = 70;     // an error in bprun or in communication
inline constexpr int kExitOutputLost = 74;   // all ranks succeeded, but output could not be written
// A host is lost or unreachable, or the run was stopped after a checkpoint.
inline constexpr int kExitTemporary = 75;
inline constexpr int kExitSkipped = 77;  // returned by a program that declines its parameters
inline constexpr int kExitNotExecutable = 126;
inline constexpr int kExitNotFound = 127;
// plus the signal's number; SIGPIPE: no process reads the output any more
inline constexpr int kExitSignal = 128;
inline constexpr int kExitInterrupted = 130;

}  // namespace bp::launcher
