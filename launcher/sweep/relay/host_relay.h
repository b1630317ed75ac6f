// The sweep's process on another host: starts the agents of its trials, so that a trial needs no
// login of its own.
#pragma once

namespace bp::launcher::sweep {

// Serves the sweep at the other end of stdin and stdout. Blocks until that end closes the
// connection, hangs up every command, and returns the exit code.
[[nodiscard]] int host_relay_main();

}  // namespace bp::launcher::sweep
