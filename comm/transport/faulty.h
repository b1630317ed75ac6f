// A transport that misbehaves on demand, for tests of what happens then: wraps another and does
// one thing wrong at its n-th operation.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "comm/transport/transport.h"

namespace bp {

struct Fault {
  enum class Kind : std::uint8_t {
    none,
    delay,     // posts the operation only after `delay`
    drop,      // never posts it: it never completes
    truncate,  // posts half of its bytes
    fail,      // throws TransportFailure
    kill,      // SIGKILL to this process
    slow,      // a slow link: posts each send, from the first on, only after `delay`
  };
  Kind kind = Kind::none;
  std::uint64_t at = 0;  // counted over sends and receives, from 0
  std::chrono::milliseconds delay{0};
};

[[nodiscard]] std::unique_ptr<Transport> make_faulty(std::unique_ptr<Transport> inner, Fault fault);

}  // namespace bp
