#include "launcher/agent/frame.h"

#include "bp/error.h"
#include "comm/base/check.h"
#include "comm/base/text.h"
#include "launcher/agent/wire.h"

namespace bp::launcher {
namespace {

constexpr std::size_t kHeader = 5;

}  // namespace

std::string encode_frame(std::uint8_t type, std::string_view content) {
  BP_CHECK(content.size() <= kMaxFrame, "a frame over the limit");
  WireWriter out;
  out.u32(static_cast<std::uint32_t>(content.size()));
  out.u8(type);
  std::string bytes = out.take();
  bytes += content;
  return bytes;
}

void FrameReader::feed(std::string_view bytes) {
  buffer_.erase(0, used_);
  used_ = 0;
  buffer_ += bytes;
}

std::optional<Frame> FrameReader::next() {
  const std::string_view rest = std::string_view(buffer_).substr(used_);
  if (rest.size() < kHeader) {
    return std::nullopt;
  }
  WireReader header(rest.substr(0, kHeader));
  const std::size_t length = header.u32();
  const std::uint8_t type = header.u8();
  if (length > kMaxFrame) {
    throw Error(ErrorCode::io,
                concat("bprun and its agent do not understand each other: a frame of ", length,
                       " bytes, at most ", kMaxFrame, " are allowed"));
  }
  if (rest.size() - kHeader < length) {
    return std::nullopt;
  }
  used_ += kHeader + length;
  return Frame{type, std::string(rest.substr(kHeader, length))};
}

}  // namespace bp::launcher
