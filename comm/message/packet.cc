#include "comm/message/packet.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "base/text.h"
#include "comm/transport/transport.h"

namespace bp {
namespace {

// Returns what is wrong with a header, or "". `room`: the bytes that can follow it.
std::string problem_of(const PacketHeader& header, std::size_t room) {
  using Kind = PacketHeader::Kind;
  if (header.kind > Kind::flush) {
    return concat("its kind is number ", static_cast<int>(header.kind), ", which does not exist");
  }
  const std::size_t element = size_of(header.type);
  if (element == 0) {
    return concat("it has elements of type number ", static_cast<int>(header.type),
                  ", which does not exist");
  }
  const std::size_t most = header.kind == Kind::eager ? std::min(room, kEagerBytes)
                                                      : std::numeric_limits<std::size_t>::max();
  if (header.count > most / element) {
    return concat("it has ", header.count, " ", name_of(header.type),
                  " elements, and there is room for ", most / element);
  }
  if (header.name_bytes > PacketHeader::kNameShown) {
    return concat("it shows ", header.name_bytes, " bytes of its name, and the most is ",
                  PacketHeader::kNameShown);
  }
  return "";
}

}  // namespace

Packet read_packet(std::span<const std::byte> bytes) {
  Packet packet;
  std::memcpy(&packet.header, bytes.data(), sizeof(PacketHeader));
  const PacketHeader& header = packet.header;
  const std::string problem = problem_of(header, bytes.size() - sizeof(PacketHeader));
  if (!problem.empty()) {
    throw TransportFailure(ErrorCode::io, concat("it sent a broken packet: ", problem,
                                                 " (do all ranks run the same version of bp?)"));
  }
  if (header.kind == PacketHeader::Kind::eager) {
    packet.payload = bytes.subspan(sizeof(PacketHeader), header.bytes());
  }
  return packet;
}

}  // namespace bp
