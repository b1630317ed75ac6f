#include "launcher/sweep/relay/relay_frame.h"

#include "base/text.h"
#include "bp/error.h"

namespace bp::launcher::sweep {

std::string encode(const RelayFrame& frame) {
  FrameWriter writer(static_cast<std::uint8_t>(frame.type));
  writer.content()(frame.command, frame.bytes);
  return writer.take();
}

RelayFrame decode_relay_frame(const Frame& frame) {
  if (frame.type < static_cast<std::uint8_t>(RelayType::hello) ||
      frame.type > static_cast<std::uint8_t>(RelayType::exited)) {
    throw Error(ErrorCode::io, concat("a relay sent a frame of type ", int{frame.type}));
  }
  WireReader reader(frame.content);
  RelayFrame decoded;
  decoded.type = static_cast<RelayType>(frame.type);
  reader(decoded.command, decoded.bytes);
  reader.expect_end();
  return decoded;
}

}  // namespace bp::launcher::sweep
