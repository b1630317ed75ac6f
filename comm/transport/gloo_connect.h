// How a Gloo context gets connected to all other ranks.
#pragma once

#include "bp/store.h"
#include "comm/transport/gloo.h"
#include "comm/transport/gloo_plugin/table.h"

namespace bp {

// The plugin's context. Gloo waits for its peers until its own deadline, whatever becomes of them;
// where the job fails meanwhile this throws `aborted` at once, and the attempt, on a thread of its
// own, is left to itself. Else throws as GlooTransport's constructor does.
[[nodiscard]] void* connect_gloo(const gloo_plugin::Table& table,
                                 const GlooOptions& options,
                                 Store& store);

}  // namespace bp
