// Runs one body on n ranks that are threads of this process, over inproc, or over Gloo with
// loopback sockets.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "bp/communicator.h"
#include "comm/backend/backends.h"
#include "comm/backend/common/selection_table.h"
#include "comm/schedule/segments.h"
#include "comm/transport/faulty.h"

namespace bp::test {

enum class Wire { inproc, gloo, shm };  // shm also has inproc, but does not need it

struct RanksOptions {
  Wire wire = Wire::inproc;
  CommunicatorOptions communicator{.timeout = std::chrono::milliseconds(20'000)};
  std::vector<int> local_sizes = {};     // empty: all ranks on one host
  std::function<Fault(int)> fault = {};  // of each rank's transport
  // The time after which ranks compare what they asked for. It is short, because a test need not
  // wait as users do.
  std::chrono::milliseconds stall_after{100};
  // So small that vectors of a few hundred bytes travel in several segments.
  SegmentLimits segments{.max_bytes = 64, .min_bytes = 16};
  std::size_t shared_chunk = 1024;  // small for the same reason
  bool open_memory = true;          // ranks of a host may access each other's memory
  DeviceBackend devices = DeviceBackend::staged;
  SelectionTable measured = {};  // the measurements by which "auto" chooses
};

// Runs the body once per rank, each on its own thread, and calls finish() if it returns. Returns
// the error of each rank: "" for none, else "code: text".
[[nodiscard]] std::vector<std::string> try_ranks(int ranks,
                                                 const std::function<void(Communicator&)>& body,
                                                 const RanksOptions& options = {});

// The same for a body with which all ranks come to throw one exception that is not an Error. Such a
// rank calls finish(), too, so that the others do not lose it before they throw.
[[nodiscard]] std::vector<std::string> try_agreeing_ranks(
    int ranks, const std::function<void(Communicator&)>& body, const RanksOptions& options = {});

// The same, but the test fails if a rank throws.
void run_ranks(int ranks,
               const std::function<void(Communicator&)>& body,
               const RanksOptions& options = {});

}  // namespace bp::test
