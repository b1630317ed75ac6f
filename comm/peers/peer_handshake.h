// The handshake in which two ranks prove to each other, on a new connection of any kind, that they
// know the job's key.
//
//   connecting rank                                       listening rank
//     "bp peer1", its rank, nonce a, HMAC(hello)     ->
//                                                    <-   nonce b, HMAC(answer, a, b)
//     HMAC(proof, a, b)                              ->
//                                                    <-   one byte: accepted, or not needed,
//                                                         since the listening rank connects itself
//
// Every HMAC covers the rank that connects and the listener's identity, which is random and is
// published only in the job's store. So a handshake that was recorded at one listener is useless at
// another, and the nonces make it useless at the same one. The first HMAC, which can be replayed,
// is not proof; it lets the listener tell a rank from a stranger before it answers.
//
// Pure: bytes in, bytes out. Threads: one at a time.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/keys/hmac.h"
#include "bp/environment.h"

namespace bp {

inline constexpr std::size_t kPeerHello = 8 + 4 + 32 + 32;
inline constexpr std::size_t kPeerAnswer = 32 + 32;
inline constexpr std::size_t kPeerProof = 32;
inline constexpr char kPeerAccepted = 'y';
inline constexpr char kPeerNotNeeded = 'n';

class PeerHandshake {
 public:
  // `listener`: the identity of the rank that listens.
  PeerHandshake(const JobKey& key, const Bytes32& listener) : hmac_(key), listener_(listener) {}

  // The side of the rank that connects. check_answer() returns false if the listener does not know
  // the key.
  [[nodiscard]] std::string hello(int rank);
  [[nodiscard]] bool check_answer(std::string_view answer);
  [[nodiscard]] std::string proof();

  // The side of the rank that listens. take_hello() returns the rank that the peer claims to be, or
  // nothing if the bytes are not a hello of this job to this listener.
  [[nodiscard]] std::optional<int> take_hello(std::string_view hello);
  [[nodiscard]] std::string answer();
  [[nodiscard]] bool check_proof(std::string_view proof);

 private:
  [[nodiscard]] Bytes32 mac(std::string_view message);

  Hmac hmac_;
  Bytes32 listener_;
  std::string opening_;  // the hello without its HMAC
  std::string b_;        // the listener's nonce
};

}  // namespace bp
