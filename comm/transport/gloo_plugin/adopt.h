// Makes a Gloo transport of connections that exist already.
//
// The constructor of a gloo Pair (one connection) opens a listener, and the Pair accepts the first
// process that connects there as its peer. The pairs here close that listener before Gloo's thread
// can accept from it, and use a given connection instead.
#pragma once

#include <gloo/transport/context.h>
#include <gloo/transport/device.h>

#include <chrono>
#include <memory>

#include "comm/transport/gloo_plugin/function_table.h"

namespace bp::gloo_plugin {

// Makes a transport without connections. `device` must be a TCP device.
[[nodiscard]] std::shared_ptr<gloo::transport::Context> make_transport(
    const std::shared_ptr<gloo::transport::Device>& device,
    int rank,
    int size,
    std::chrono::milliseconds timeout);

// Gives the transport its connection to `peer`, and owns it, unless it throws. On a connection that
// has already ended, every operation of the pair fails.
void adopt_connection(gloo::transport::Context& transport, int peer, int connection);

// Returns another descriptor of the connection to `peer`; -1 if there is none, if Gloo has closed
// it, or if no descriptor is left.
[[nodiscard]] int duplicate_connection(gloo::transport::Context& context, int peer);
// Returns whether Gloo holds bytes for `peer` that the connection has not taken yet.
[[nodiscard]] bool is_writing(gloo::transport::Context& context, int peer);

// Writes the present state of the connection to `peer`. Returns false if Gloo has closed it.
[[nodiscard]] bool look_at_connection(gloo::transport::Context& context, int peer, LinkState& now);

// Closes all connections of `rank`. The kernel still delivers what they were given, which a reset,
// Gloo's own way to close, would throw away. Gloo waits for the end of a turn of the device's
// thread after each one, since the thread may be about to handle an event of the connection. A turn
// takes up to 10 ms if there are no events, and microseconds here.
void close_connections(gloo::transport::Device& device,
                       gloo::transport::Context& context,
                       int rank);

}  // namespace bp::gloo_plugin
