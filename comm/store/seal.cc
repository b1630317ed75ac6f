#include "comm/store/seal.h"

namespace bp {

Bytes32 derive(const JobKey& key, HandshakeRole role, const HandshakeFacts& facts) {
  // Everything but the job has a fixed size and the job comes last: no two facts look alike.
  std::string text = "bp store handshake";
  text += static_cast<char>(role);
  append_u32(text, kStoreVersion);
  append_u32(text, static_cast<std::uint32_t>(facts.rank));
  return Hmac(key)({text, view_of(facts.client_nonce), view_of(facts.server_nonce), facts.job});
}

std::string plain_frame(std::string_view body) {
  std::string frame;
  frame.reserve(kFrameHeader + body.size());
  append_u32(frame, static_cast<std::uint32_t>(body.size()));
  return frame.append(body);
}

std::string FrameSeal::seal(std::string_view body) {
  std::string frame;
  frame.reserve(kFrameHeader + body.size() + kFrameMac);
  append_u32(frame, static_cast<std::uint32_t>(body.size()));
  return frame.append(body).append(view_of(next_mac(body)));
}

bool FrameSeal::accept(std::string_view body, std::string_view mac) {
  return equal_secrets(view_of(next_mac(body)), mac);
}

Bytes32 FrameSeal::next_mac(std::string_view body) {
  std::string head(1, static_cast<char>(direction_));
  append_u64(head, sequence_++);
  append_u32(head, static_cast<std::uint32_t>(body.size()));
  return hmac_({head, body});
}

}  // namespace bp
