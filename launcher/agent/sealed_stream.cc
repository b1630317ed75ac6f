#include "launcher/agent/sealed_stream.h"

#include <algorithm>

#include "bp/error.h"
#include "comm/store/store_wire.h"

namespace bp::launcher {
namespace {

constexpr std::size_t kMaxRecord = std::size_t{1} << 20;

FrameDirection from(SealedStream::End end) {
  return end == SealedStream::End::server ? FrameDirection::to_client : FrameDirection::to_server;
}

SealedStream::End other(SealedStream::End end) {
  return end == SealedStream::End::server ? SealedStream::End::client : SealedStream::End::server;
}

}  // namespace

SealedStream::SealedStream(const Bytes32& session, End end)
    : outgoing_(session, from(end)), incoming_(session, from(other(end))) {}

std::string SealedStream::seal(std::string_view bytes) {
  std::string records;
  while (!bytes.empty()) {
    const std::size_t size = std::min(bytes.size(), kMaxRecord);
    records += outgoing_.seal(bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
  return records;
}

std::string SealedStream::open(std::string_view bytes) {
  received_ += bytes;
  std::string opened;
  std::size_t taken = 0;
  while (true) {
    const FrameView record = next_frame(std::string_view(received_).substr(taken),
                                        {.body = kMaxRecord, .mac = kFrameMac});
    if (record.state == FrameView::State::incomplete) break;
    if (record.state == FrameView::State::too_long || !incoming_.accept(record.body, record.mac)) {
      throw Error(ErrorCode::io, "bytes from the network were altered on the way");
    }
    opened += record.body;
    taken += record.size;
  }
  received_.erase(0, taken);
  return opened;
}

}  // namespace bp::launcher
