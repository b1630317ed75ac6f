#include "comm/store/seal.h"

namespace bp {

Bytes32 derive(const JobKey& key, HandshakeRole role, const HandshakeFacts& facts) {
  // Every part but the job has a fixed size, and the job comes last, so different facts never give
  // the same bytes.
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

auto FrameSeal::seal_around(std::string_view head, std::string_view tail) -> Around {
  Around frame;
  frame.before.reserve(kFrameHeader + head.size());
  append_u32(frame.before, static_cast<std::uint32_t>(head.size() + tail.size()));
  frame.before.append(head);
  frame.behind = view_of(next_mac(head, tail));
  return frame;
}

bool FrameSeal::accept(std::string_view body, std::string_view mac) {
  return equal_secrets(view_of(next_mac(body)), mac);
}

Bytes32 FrameSeal::next_mac(std::string_view head, std::string_view tail) {
  std::string facts(1, static_cast<char>(direction_));
  append_u64(facts, sequence_++);
  append_u32(facts, static_cast<std::uint32_t>(head.size() + tail.size()));
  return hmac_({facts, head, tail});
}

}  // namespace bp
