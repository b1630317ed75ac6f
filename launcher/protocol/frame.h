// The framing of messages in the stream between launcher and agent: length (32 bits), type (8
// bits), content. Pure: bytes in, frames out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "launcher/protocol/wire.h"

namespace bp::launcher {

// The largest content of a frame. A job's argv and environment are sent in one frame; the kernel
// accepts at most 6 MiB of them.
inline constexpr std::size_t kMaxFrame = 32U << 20U;

struct Frame {
  std::uint8_t type = 0;
  std::string_view content;  // points into the FrameReader; valid until the next feed()
};

// Writes one frame: write its content(), then call take() for the bytes.
class FrameWriter {
 public:
  explicit FrameWriter(std::uint8_t type);
  [[nodiscard]] WireWriter& content() { return out_; }
  [[nodiscard]] std::string take();

 private:
  WireWriter out_;
};

// Cuts a stream into frames. After a throw it is unusable, because the next frame's start is
// unknown.
class FrameReader {
 public:
  void feed(std::string_view bytes);
  // Returns the next frame if all of it has arrived. Throws io for a length over kMaxFrame.
  [[nodiscard]] std::optional<Frame> next();

 private:
  std::string buffer_;
  std::size_t used_ = 0;  // bytes of buffer_ that next() has returned
};

// An agent writes this before its first frame. The launcher skips everything before it, because the
// remote shell may print something first.
inline constexpr std::string_view kAgentMagic = "\nbprun-agent\x01\x02\n";

}  // namespace bp::launcher
