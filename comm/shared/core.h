// The core on which a thread runs.
#pragma once

namespace bp {

// Makes the scheduler move the calling thread to another core that it may use, if there is one.
void leave_core();

}  // namespace bp
