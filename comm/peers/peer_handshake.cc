#include "comm/peers/peer_handshake.h"

#include <cstdint>

namespace bp {
namespace {

constexpr std::string_view kPeerMagic = "bp peer1";  // the digit is the protocol's version
constexpr std::size_t kMacSize = Bytes32{}.size();

}  // namespace

Bytes32 PeerHandshake::mac(std::string_view message) {
  return hmac_({"bp peer ", message, view_of(listener_), opening_, b_});
}

std::string PeerHandshake::hello(int rank) {
  const auto number = static_cast<std::uint32_t>(rank);
  opening_ = kPeerMagic;
  for (int shift = 0; shift < 32; shift += 8) opening_ += static_cast<char>(number >> shift);
  opening_ += view_of(random_bytes());
  return opening_ + std::string(view_of(mac("hello ")));
}

bool PeerHandshake::check_answer(std::string_view answer) {
  if (answer.size() != kPeerAnswer) return false;
  b_ = answer.substr(0, kMacSize);
  return equal_secrets(answer.substr(kMacSize), view_of(mac("answer")));
}

std::string PeerHandshake::proof() { return std::string(view_of(mac("proof "))); }

std::optional<int> PeerHandshake::take_hello(std::string_view hello) {
  if (hello.size() != kPeerHello || !hello.starts_with(kPeerMagic)) return std::nullopt;
  opening_ = hello.substr(0, kPeerHello - kMacSize);
  if (!equal_secrets(hello.substr(opening_.size()), view_of(mac("hello ")))) return std::nullopt;
  std::uint32_t number = 0;
  for (int byte = 3; byte >= 0; --byte) {
    number = number << 8 | static_cast<unsigned char>(opening_[kPeerMagic.size() + byte]);
  }
  return static_cast<int>(number);
}

std::string PeerHandshake::answer() {
  b_ = view_of(random_bytes());
  return b_ + std::string(view_of(mac("answer")));
}

bool PeerHandshake::check_proof(std::string_view proof) {
  return equal_secrets(proof, view_of(mac("proof ")));
}

}  // namespace bp
