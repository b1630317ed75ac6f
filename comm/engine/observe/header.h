// All ranks of a communicator must agree on a header before a collective moves a byte.
//
// A transport cannot check lengths and types (Gloo ends the process when a message is longer than
// its receive, and takes a shorter one for complete). So every message of a collective goes to a
// slot that is a hash of its header. Ranks that ask for different collectives wait on different
// slots and receive nothing; for ranks that agree the check costs nothing. A rank that has waited
// for a second shows its header to the others in the store (agreement.h).
#pragma once

#include <cstdint>
#include <string_view>

#include "comm/backend/common/operation.h"

namespace bp {

// Refers to its parts, which must outlive this object.
struct Header {
  std::string_view group;      // which communicator: "world", "world.3.1"
  std::uint64_t sequence = 0;  // the number of collectives that it began before
  const Operation* operation = nullptr;
  std::string_view algorithm;  // as asked for

  // A well-mixed hash of all fields, which is this collective's first slot.
  [[nodiscard]] std::uint64_t slot() const;
};

}  // namespace bp
