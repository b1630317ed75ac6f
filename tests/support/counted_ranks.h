// Ranks of which a test counts what they send.
#pragma once

#include <cstddef>
#include <functional>

#include "tests/support/run_ranks.h"

namespace bp::test {

// Told of each send between ranks, by the thread that posts it. What goes through shared memory is
// none.
using OnSend = std::function<void(int from, int to, std::size_t bytes)>;

// As run_ranks().
void run_counted_ranks(int ranks,
                       const std::function<void(Communicator&)>& body,
                       const RanksOptions& options,
                       const OnSend& on_send);

}  // namespace bp::test
