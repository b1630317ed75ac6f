// The core on which a thread runs.
#pragma once

namespace bp {

// How many the calling thread may use.
[[nodiscard]] int usable_cores();
// Has the scheduler move the calling thread to another one that it may use, if there is one.
void leave_core();

}  // namespace bp
