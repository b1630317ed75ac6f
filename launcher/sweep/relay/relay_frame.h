// A sweep and its relay on another host exchange these frames. They carry many commands, each with
// its own stdin, stdout, stderr and exit status, over the one connection to the host.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.h"
#include "bp/error.h"
#include "launcher/protocol/frame.h"

namespace bp::launcher::sweep {

enum class RelayType : std::uint8_t {
  hello = 1,  // from the relay: its build and the cores of its host
  open,       // to it: starts a command for /bin/sh
  input,      // to it: bytes for the command's stdin; none: its end
  hang_up,    // to it: nobody waits for the command any more
  output,     // from it: bytes of the command's stdout
  errors,     // from it: bytes of its stderr
  exited,     // from it: the exit code, as from ssh
};

struct RelayFrame {
  RelayType type = RelayType::hello;
  std::uint32_t command = 0;  // its number; for hello the cores
  std::string_view bytes;     // of a stream; the command, the build; for exited the code in digits
};

[[nodiscard]] inline std::string encode(const RelayFrame& frame) {
  FrameWriter writer(static_cast<std::uint8_t>(frame.type));
  writer.content()(frame.command, frame.bytes);
  return writer.take();
}

// Throws io.
[[nodiscard]] inline RelayFrame decode_relay_frame(const Frame& frame) {
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
