#include "comm/store/handshake.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

namespace bp {
namespace {

Bytes32 to_bytes(const std::string& text) {
  Bytes32 bytes{};
  std::copy_n(text.begin(), std::min(text.size(), bytes.size()), bytes.begin());
  return bytes;
}

}  // namespace

ServerHandshake::ServerHandshake(const JobKey& key, std::string job) : key_(key) {
  facts_.job = std::move(job);
}

ServerHandshake::Step ServerHandshake::take_hello(std::string_view body) {
  const auto handshake = decode_handshake(body);
  if (!handshake) return {.problem = "it does not speak the store's protocol"};
  if (handshake->version != kStoreVersion) return {.refusal = StoreRefusal::version};
  const auto& hello = handshake->message;
  if (!hello || hello->op != StoreOp::hello || hello->strings[1].size() != Bytes32{}.size()) {
    return {.problem = "it sent a malformed hello"};
  }
  if (hello->strings[0] != facts_.job) return {.refusal = StoreRefusal::job};
  constexpr std::int64_t kTooHigh = std::numeric_limits<int>::max();
  facts_.rank = static_cast<int>(std::clamp<std::int64_t>(hello->number, -1, kTooHigh));
  facts_.client_nonce = to_bytes(hello->strings[1]);
  facts_.server_nonce = random_bytes();
  const Bytes32 proof = derive(key_, HandshakeRole::server_proof, facts_);
  return {
      .frame = plain_frame(encode_handshake(
          {.op = StoreOp::challenge,
           .strings = {std::string(view_of(facts_.server_nonce)), std::string(view_of(proof))}}))};
}

ServerHandshake::Step ServerHandshake::take_proof(std::string_view body) {
  const auto handshake = decode_handshake(body);
  const Bytes32 wanted = derive(key_, HandshakeRole::client_proof, facts_);
  if (!handshake || !handshake->message || handshake->message->op != StoreOp::proof ||
      !equal_secrets(handshake->message->strings[0], view_of(wanted))) {
    return {.problem = "it does not know the job's key"};
  }
  return {};
}

Bytes32 ServerHandshake::session() const { return derive(key_, HandshakeRole::session, facts_); }

ClientHandshake::ClientHandshake(const JobKey& key, std::string job, int rank) : key_(key) {
  facts_.rank = rank;
  facts_.job = std::move(job);
  facts_.client_nonce = random_bytes();
}

std::string ClientHandshake::hello() const {
  return plain_frame(
      encode_handshake({.op = StoreOp::hello,
                        .number = facts_.rank,
                        .strings = {facts_.job, std::string(view_of(facts_.client_nonce))}}));
}

ClientHandshake::Step ClientHandshake::take_challenge(const HandshakeBody& body) {
  if (!body.message) return {.refusal = StoreRefusal::version, .version = body.version};
  const StoreMessage& challenge = *body.message;
  if (challenge.op == StoreOp::refusal) {
    return {.refusal = static_cast<StoreRefusal>(challenge.number), .version = body.version};
  }
  if (challenge.op != StoreOp::challenge ||
      challenge.strings[0].size() != facts_.server_nonce.size()) {
    return {.broken = true};
  }
  facts_.server_nonce = to_bytes(challenge.strings[0]);
  const Bytes32 wanted = derive(key_, HandshakeRole::server_proof, facts_);
  if (!equal_secrets(challenge.strings[1], view_of(wanted))) return {.other_key = true};
  const Bytes32 proof = derive(key_, HandshakeRole::client_proof, facts_);
  return {.frame = plain_frame(
              encode_handshake({.op = StoreOp::proof, .strings = {std::string(view_of(proof))}}))};
}

Bytes32 ClientHandshake::session() const { return derive(key_, HandshakeRole::session, facts_); }

}  // namespace bp
