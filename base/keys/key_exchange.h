// An agreement on a key over a stream that others can read: X25519 with keys that are used once,
// and AES-256-GCM (OpenSSL's). Who reads the stream learns nothing. Who can also alter it can sit
// in between, unless the ends know each other's public keys by another way.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/keys/hmac.h"

namespace bp {

// One end. Threads: one at a time.
class KeyExchange {
 public:
  KeyExchange();  // makes a new pair of keys; throws unavailable if OpenSSL has no X25519
  KeyExchange(KeyExchange&&) noexcept;
  KeyExchange& operator=(KeyExchange&&) noexcept;
  ~KeyExchange();

  [[nodiscard]] const Bytes32& public_key() const { return public_key_; }
  // Returns the key that both ends have, given the other's public key; `purpose` tells keys apart
  // that serve different ends. Nothing if `theirs` is none of X25519's keys.
  [[nodiscard]] std::optional<Bytes32> shared_key(std::string_view theirs,
                                                  std::string_view purpose) const;

 private:
  struct Pair;
  std::unique_ptr<Pair> pair_;
  Bytes32 public_key_{};
};

// Encrypts and authenticates one text. A key must serve for one text only.
[[nodiscard]] std::string encrypt_once(const Bytes32& key, std::string_view text);
// Returns the text; nothing if the bytes are not what encrypt_once() made with that key.
[[nodiscard]] std::optional<std::string> decrypt_once(const Bytes32& key, std::string_view bytes);

}  // namespace bp
