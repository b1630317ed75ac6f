// The one exception type of bp.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "bp/export.h"

namespace BP_API bp {

enum class ErrorCode : std::uint8_t {
  invalid_argument,  // the caller asked for something that makes no sense; nothing was sent
  mismatch,          // the ranks asked for different things
  timeout,           // a deadline passed; the text names who or what was missing
  peer_lost,         // a rank's connection closed or its process died
  io,                // the operating system refused
  aborted,           // the communicator or the job had already failed; the text quotes why
  unavailable,       // a requested backend, plugin or device does not exist here
};

[[nodiscard]] std::string_view name_of(ErrorCode code);  // "peer_lost"

// what() is one line that names the rank, peer or address, the operation, how far it got (bytes
// done of bytes wanted), why it failed (the system's reason) and what to try.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& text) : std::runtime_error(text), code_(code) {}
  [[nodiscard]] ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace bp
