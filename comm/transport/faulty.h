// A transport that misbehaves on demand, for tests of failures. It wraps another transport and does
// one thing wrong at operation `at`.
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
    drop,      // never posts it, so it never completes
    truncate,  // posts half of its bytes
    fail,      // throws TransportFailure
    kill,      // SIGKILL to this process
    slow,      // a slow link: posts every send only after `delay`, and ignores `at`
  };
  Kind kind = Kind::none;
  std::uint64_t at = 0;  // the number of the operation; sends and receives count from 0
  std::chrono::milliseconds delay{0};
};

[[nodiscard]] std::unique_ptr<Transport> make_faulty(std::unique_ptr<Transport> inner, Fault fault);

}  // namespace bp
