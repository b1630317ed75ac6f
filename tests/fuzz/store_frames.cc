// The store's bytes as either end reads them. The first byte selects frames before or after the
// handshake. Accepted bytes must equal what bp writes for the same message.
#include <cstdlib>

#include "comm/store/seal.h"
#include "comm/store/store_wire.h"
#include "fuzz.h"

namespace {

using namespace bp;

void read_handshake(std::string_view body) {
  const auto handshake = decode_handshake(body);
  if (handshake && handshake->message && encode_handshake(*handshake->message) != body) {
    std::abort();
  }
}

void read_message(std::string_view body) {
  const auto message = decode_message(body);
  if (message && encode_message(*message) != body) std::abort();
}

}  // namespace

FUZZ_TARGET(store_frames) {
  if (size == 0) return 0;
  const std::string bytes = bp::test::text_of(data + 1, size - 1);
  const bool sealed = data[0] % 2 == 1;
  const FrameLimits limits = sealed ? FrameLimits{.body = kMaxStoreBody, .mac = kFrameMac}
                                    : FrameLimits{.body = kMaxHandshakeBody, .mac = 0};
  FrameSeal incoming(Bytes32{}, FrameDirection::to_server);
  for (std::string_view rest = bytes;;) {
    const FrameView frame = next_frame(rest, limits);
    if (frame.state != FrameView::State::complete) break;
    if (sealed) {
      static_cast<void>(incoming.accept(frame.body, frame.mac));
      read_message(frame.body);
    } else {
      read_handshake(frame.body);
    }
    rest.remove_prefix(frame.size);
  }
  return 0;
}
