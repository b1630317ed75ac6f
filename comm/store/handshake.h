// The store's handshake, in which two processes prove to each other that they know the same key:
// hello (client), challenge with the server's proof, proof (client). Pure: bodies of frames in,
// frames out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "comm/store/seal.h"
#include "comm/store/store_wire.h"

namespace bp {

class ServerHandshake {
 public:
  // What to do after a frame of the client. If `problem` is not empty, close the connection for
  // that reason; else if there is a `refusal`, send it and close; else send `frame`, if any, and
  // continue.
  struct Step {
    std::string frame = {};
    std::optional<StoreRefusal> refusal = {};
    std::string problem = {};
  };

  ServerHandshake(const JobKey& key, std::string job);
  [[nodiscard]] Step take_hello(std::string_view body);
  [[nodiscard]] Step take_proof(std::string_view body);  // an empty Step: the client knows the key

  [[nodiscard]] int rank() const { return facts_.rank; }  // that of the client's hello
  [[nodiscard]] Bytes32 session() const;                  // the key of the FrameSeals

 private:
  JobKey key_;
  HandshakeFacts facts_;
};

class ClientHandshake {
 public:
  struct Step {
    std::string frame = {};  // to send; it ends the client's part of the handshake
    std::optional<StoreRefusal> refusal = {};
    std::uint32_t version = kStoreVersion;  // the server's
    bool broken = false;                    // the server's frame is not a challenge
    bool other_key = false;                 // the server does not know this key
  };

  ClientHandshake(const JobKey& key, std::string job, int rank);
  [[nodiscard]] std::string hello() const;  // a frame
  [[nodiscard]] Step take_challenge(const HandshakeBody& body);
  [[nodiscard]] Bytes32 session() const;

 private:
  JobKey key_;
  HandshakeFacts facts_;
};

}  // namespace bp
