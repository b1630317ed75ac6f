// The header of a message between two ranks, and the message that follows it.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "comm/message/packet.h"
#include "comm/transport/transport.h"
#include "fuzz.h"

FUZZ_TARGET(packets) {
  using namespace bp;
  std::vector<std::byte> memory(kPacketBytes);
  std::memcpy(memory.data(), data, std::min(size, memory.size()));
  try {
    const Packet packet = read_packet(memory);
    const PacketHeader& header = packet.header;
    if (header.name_bytes > PacketHeader::kNameShown) std::abort();
    // No receive may copy more bytes than its own count.
    const bool eager = header.kind == PacketHeader::Kind::eager;
    if (eager && header.count > kEagerBytes) std::abort();
    if (packet.payload.size() != (eager ? header.bytes() : 0)) std::abort();
    if (header.kind > PacketHeader::Kind::flush || size_of(header.type) == 0) std::abort();
    const std::vector<std::byte> copy(packet.payload.begin(), packet.payload.end());
    if (copy.size() > kEagerBytes) std::abort();
  } catch (const TransportFailure&) {
  }
  return 0;
}
