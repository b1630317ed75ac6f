// Tells a program's user when its standard output was lost. Every main() begins with
// begin_output() and ends with end_output().
#pragma once

namespace bp {

// Call this before any file is opened. If standard output is closed, takes its descriptor, so that
// no file or socket gets it and what is printed; each write then fails with EBADF, as before. A
// file at its size limit (ulimit -f) becomes an error, like a full disk, instead of a signal.
void begin_output();

// What it means that the reader of standard output has closed its pipe (EPIPE).
enum class ClosedPipe {
  enough,  // it has seen enough, which is not a failure
  lost,    // it has missed the rest
};

// Call this once, before the program ends. Writes what is left in the buffer of stdout. If that
// fails, or an earlier write to stdout has failed, prints "PROGRAM: cannot write to standard
// output: No space left on device" to stderr, and returns `code`, or 74 instead of 0. Otherwise
// returns `code`.
[[nodiscard]] int end_output(const char* program, int code, ClosedPipe closed = ClosedPipe::enough);

}  // namespace bp
