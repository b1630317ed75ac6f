// What all ranks of a communicator must agree on before a collective moves a byte.
//
// A transport may trust neither lengths nor types to its peers (Gloo ends the process when a
// message is longer than its receive, and calls a shorter one complete). So every message of a
// collective goes to a slot that is a hash of its header: ranks that ask for different things wait
// on different slots and nothing arrives, while ranks that agree pay nothing. Who has waited a
// second shows its header to the others in the store (agreement.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "comm/backend/operation.h"

namespace bp {

struct Header {
  std::string group;           // which communicator: "world", "world.3.1"
  std::uint64_t sequence = 0;  // how many collectives it has begun before
  std::string request;         // describe()
  std::string algorithm;       // as asked for

  // A well-mixed hash of it all: where this collective's slots begin.
  [[nodiscard]] std::uint64_t slot() const;
};

// "all_reduce sum of 1000 f32 'loss'", "broadcast of 4 i64 from rank 2": equal exactly where the
// requests are.
[[nodiscard]] std::string describe(const Operation& operation);

}  // namespace bp
