// Preloaded into a program, delays the end of a process that runs the destructors of its libraries.
// A busy machine does the same to LibTorch's.
#include <unistd.h>

namespace {

constexpr unsigned kSeconds = 5;

[[gnu::destructor]] void delay() { ::sleep(kSeconds); }

}  // namespace
