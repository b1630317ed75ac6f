// The cores on which a thread may run.
#pragma once

namespace bp {

// Returns the number of cores that the calling thread may use.
[[nodiscard]] int usable_cores();
// Makes the scheduler move the calling thread to another of these cores, if there is one.
void leave_core();

}  // namespace bp
