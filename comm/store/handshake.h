// How two processes prove to each other that they know one key, as bodies of frames: hello,
// challenge (with the server's proof), proof (the client's). Pure: bytes in, bytes out.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "comm/store/seal.h"
#include "comm/store/wire.h"

namespace bp {

class ServerHandshake {
 public:
  // What to do with what the client sent: send `frame` and go on; or refuse; or, where `problem`
  // says why, end it.
  struct Step {
    std::string frame = {};
    std::optional<StoreRefusal> refusal = {};
    std::string problem = {};
  };

  ServerHandshake(const JobKey& key, std::string job);
  [[nodiscard]] Step take_hello(std::string_view body);
  [[nodiscard]] Step take_proof(std::string_view body);  // no frame: the client knows the key

  [[nodiscard]] int rank() const { return facts_.rank; }  // as the client's hello had it
  [[nodiscard]] Bytes32 session() const;                  // the key for the seals of what follows

 private:
  JobKey key_;
  HandshakeFacts facts_;
};

class ClientHandshake {
 public:
  struct Step {
    std::string frame = {};  // to be sent; then the client is in
    std::optional<StoreRefusal> refusal = {};
    std::uint32_t version = kStoreVersion;  // the server's
    bool broken = false;                    // what came is no challenge
    bool other_key = false;
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
