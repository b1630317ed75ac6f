#include "launcher/protocol/frame.h"

#include "base/check.h"
#include "base/text.h"
#include "bp/error.h"

namespace bp::launcher {
namespace {

constexpr std::size_t kHeader = 5;

}  // namespace

FrameWriter::FrameWriter(std::uint8_t type) {
  out_(std::uint32_t{0}, type);  // the length, which take() fills in
}

std::string FrameWriter::take() {
  std::string bytes = out_.take();
  BP_CHECK(bytes.size() - kHeader <= kMaxFrame, "a frame over the limit");
  WireWriter length;
  length(static_cast<std::uint32_t>(bytes.size() - kHeader));
  bytes.replace(0, 4, length.take());
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
  std::uint32_t length = 0;
  std::uint8_t type = 0;
  header(length, type);
  if (length > kMaxFrame) {
    throw Error(ErrorCode::io,
                concat("bprun and its agent do not understand each other: a frame of ", length,
                       " bytes, at most ", kMaxFrame, " are allowed"));
  }
  if (rest.size() - kHeader < length) {
    return std::nullopt;
  }
  used_ += kHeader + length;
  return Frame{type, rest.substr(kHeader, length)};
}

}  // namespace bp::launcher
