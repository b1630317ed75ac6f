#include "comm/message/packet.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "comm/transport/transport.h"

namespace bp {

Packet read_packet(std::span<const std::byte> bytes) {
  Packet packet;
  std::memcpy(&packet.header, bytes.data(), sizeof(PacketHeader));
  const PacketHeader& header = packet.header;
  const bool eager = header.kind == PacketHeader::Kind::eager;
  const std::size_t most = eager ? std::min(bytes.size() - sizeof(PacketHeader), kEagerBytes)
                                 : std::numeric_limits<std::size_t>::max();
  const std::size_t element = size_of(header.type);
  if (header.kind > PacketHeader::Kind::flush || header.name_bytes > PacketHeader::kNameShown ||
      element == 0 || header.count > most / element) {
    throw TransportFailure(ErrorCode::io, "it sent a broken packet");
  }
  if (eager) packet.payload = bytes.subspan(sizeof(PacketHeader), header.bytes());
  return packet;
}

}  // namespace bp
