// Authenticates the store's frames. In the handshake both sides prove that they know the job's key.
// Every later frame carries a MAC, under a key of this connection, over direction, sequence number
// and body. So a receiver detects a frame that was altered, replayed, reflected, left out or taken
// from another connection.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/keys/hmac.h"
#include "bp/environment.h"
#include "comm/store/store_wire.h"

namespace bp {

// What both sides sent unencrypted in the handshake. Every proof and the session's key cover it.
struct HandshakeFacts {
  int rank = -1;
  std::string job;
  Bytes32 client_nonce{};
  Bytes32 server_nonce{};
};

enum class HandshakeRole : std::uint8_t { server_proof = 1, client_proof = 2, session = 3 };

[[nodiscard]] Bytes32 derive(const JobKey& key, HandshakeRole role, const HandshakeFacts& facts);

enum class FrameDirection : char { to_server = 'C', to_client = 'S' };

// Returns a frame without MAC, for the handshake.
[[nodiscard]] std::string plain_frame(std::string_view body);

// The MACs of one direction of one connection. Both ends count the frames. Threads: one at a time.
class FrameSeal {
 public:
  FrameSeal(const Bytes32& session, FrameDirection direction)
      : hmac_(session), direction_(direction) {}

  [[nodiscard]] std::string seal(std::string_view body);
  // Seals a body in two parts without copying `tail`: returns the bytes of the frame before and
  // after it.
  struct Around {
    std::string before;
    std::string behind;
  };
  [[nodiscard]] Around seal_around(std::string_view head, std::string_view tail);
  // Returns whether this is the sender's next frame. After false the connection must be closed.
  [[nodiscard]] bool accept(std::string_view body, std::string_view mac);

 private:
  Bytes32 next_mac(std::string_view head, std::string_view tail = {});

  Hmac hmac_;
  FrameDirection direction_;
  std::uint64_t sequence_ = 0;
};

}  // namespace bp
