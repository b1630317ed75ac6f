// How messages lie in the stream between launcher and agent: length (32 bits), type (8 bits),
// content. Pure: bytes in, frames out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "launcher/protocol/wire.h"

namespace bp::launcher {

// A job's argv and environment come in one frame; the kernel takes at most 6 MiB of them.
inline constexpr std::size_t kMaxFrame = 32U << 20U;

struct Frame {
  std::uint8_t type = 0;
  std::string_view content;  // of the reader's, until it is fed again
};

// Writes one: its content, then take().
class FrameWriter {
 public:
  explicit FrameWriter(std::uint8_t type);
  [[nodiscard]] WireWriter& content() { return out_; }
  [[nodiscard]] std::string take();

 private:
  WireWriter out_;
};

// Cuts a stream into frames. After a throw it stays unusable: the stream has lost its step.
class FrameReader {
 public:
  void feed(std::string_view bytes);
  // The next whole frame, if it is there. Throws io for a length over kMaxFrame.
  [[nodiscard]] std::optional<Frame> next();

 private:
  std::string buffer_;
  std::size_t used_ = 0;  // bytes of buffer_ that have been handed out
};

// What an agent writes before its first frame, because a remote shell may have printed something
// first.
inline constexpr std::string_view kAgentMagic = "\nbprun-agent\x01\x02\n";

}  // namespace bp::launcher
