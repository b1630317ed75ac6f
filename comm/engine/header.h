// What all ranks of a communicator must agree on before a collective moves a byte.
//
// A transport may trust neither lengths nor types to its peers (Gloo ends the process when a
// message is longer than its receive, and calls a shorter one complete). So every message of a
// collective goes to a slot that is a hash of its header: ranks that ask for different things wait
// on different slots and nothing arrives, while ranks that agree pay nothing. Who has waited a
// second shows its header to the others in the store (agreement.h).
#pragma once

#include <cstdint>
#include <string_view>

#include "comm/backend/operation.h"

namespace bp {

// Refers to its parts, which must outlive it.
struct Header {
  std::string_view group;      // which communicator: "world", "world.3.1"
  std::uint64_t sequence = 0;  // how many collectives it has begun before
  const Operation* operation = nullptr;
  std::string_view algorithm;  // as asked for

  // A well-mixed hash of it all: where this collective's slots begin.
  [[nodiscard]] std::uint64_t slot() const;
};

}  // namespace bp
