// Runs one body on n ranks that are threads of this process, over inproc or, by way of loopback
// sockets, Gloo.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "bp/communicator.h"
#include "comm/backend/selection_table.h"
#include "comm/schedule/segments.h"
#include "comm/transport/faulty.h"

namespace bp::test {

enum class Wire { inproc, gloo, shm };  // shm: and inproc, which it does without

struct RanksOptions {
  Wire wire = Wire::inproc;
  CommunicatorOptions communicator{.timeout = std::chrono::milliseconds(20'000)};
  std::vector<int> local_sizes = {};     // empty: all on one host
  std::function<Fault(int)> fault = {};  // of each rank's transport
  // After which ranks compare what they asked for: soon, for tests need not wait as users do.
  std::chrono::milliseconds stall_after{100};
  // So small that vectors of a few hundred bytes travel in several segments.
  SegmentLimits segments{.max_bytes = 64, .min_bytes = 16};
  std::size_t shared_chunk = 1024;  // likewise
  SelectionTable measured = {};     // what "auto" goes by
};

// The body runs once a rank, each on a thread of its own. finish() is called for it where it
// returns. What a rank throws ends up in the result, by rank: "" for none, else "code: text".
[[nodiscard]] std::vector<std::string> try_ranks(int ranks,
                                                 const std::function<void(Communicator&)>& body,
                                                 const RanksOptions& options = {});

// The same where nobody may throw: a test failure otherwise.
void run_ranks(int ranks,
               const std::function<void(Communicator&)>& body,
               const RanksOptions& options = {});

}  // namespace bp::test
