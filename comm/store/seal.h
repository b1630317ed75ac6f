// What makes the store's frames trustworthy: proofs that both sides know the job's key, and a MAC
// on every frame after the handshake, which covers direction and sequence number, so that a frame
// that was altered, replayed, reflected, left out or brought over from another connection is not
// accepted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/hmac.h"
#include "bp/environment.h"
#include "comm/store/wire.h"

namespace bp {

// What both sides have said in clear: bound into every proof and into the session's key.
struct HandshakeFacts {
  int rank = -1;
  std::string job;
  Bytes32 client_nonce{};
  Bytes32 server_nonce{};
};

enum class HandshakeRole : std::uint8_t { server_proof = 1, client_proof = 2, session = 3 };

[[nodiscard]] Bytes32 derive(const JobKey& key, HandshakeRole role, const HandshakeFacts& facts);

enum class FrameDirection : char { to_server = 'C', to_client = 'S' };

// A frame without MAC, for the handshake.
[[nodiscard]] std::string plain_frame(std::string_view body);

// One direction of one connection: both ends count the frames. Not for two threads at once.
class FrameSeal {
 public:
  FrameSeal(const Bytes32& session, FrameDirection direction)
      : hmac_(session), direction_(direction) {}

  [[nodiscard]] std::string seal(std::string_view body);
  // Seals a body in two parts, of which the second stays where it is: returns what the frame has
  // before and behind that.
  struct Around {
    std::string before;
    std::string behind;
  };
  [[nodiscard]] Around seal_around(std::string_view head, std::string_view tail);
  // Whether this is the next frame of the sender. False is the end of the connection.
  [[nodiscard]] bool accept(std::string_view body, std::string_view mac);

 private:
  Bytes32 next_mac(std::string_view head, std::string_view tail = {});

  Hmac hmac_;
  FrameDirection direction_;
  std::uint64_t sequence_ = 0;
};

}  // namespace bp
