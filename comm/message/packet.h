// The packets by which ranks exchange messages. A packet is a header. If the message is short
// enough to travel before its receive is posted (an eager message), the message follows the header.
//
// The ranks of a job run one build on one kind of machine, so a header is sent as it lies in
// memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "bp/types.h"

namespace bp {

// The data of a longer message stay at the sender until a receive matches it (rendezvous).
inline constexpr std::size_t kEagerBytes = std::size_t{64} << 10;

struct PacketHeader {
  enum class Kind : std::uint8_t {
    eager,       // a complete message
    rendezvous,  // a message whose data are received on message_slot()
    credit,      // only `consumed`
    flush,       // asks for a credit for each message from now on
  };
  static constexpr std::size_t kNameShown = 80;

  std::uint64_t group = 0;   // a hash of the communicator's name
  std::uint64_t number = 0;  // of the message, among those from this sender to this receiver
  std::uint64_t count = 0;   // elements
  std::uint64_t name = 0;    // a hash of the whole name
  std::uint64_t consumed =
      0;  // the eager messages of the packet's receiver that its sender has received
  std::int32_t tag = 0;
  Kind kind = Kind::credit;
  DataType type = DataType::u8;
  std::uint16_t name_bytes = 0;                  // of name_shown
  std::array<char, kNameShown> name_shown = {};  // the beginning of the name, for error texts

  [[nodiscard]] std::size_t bytes() const { return count * size_of(type); }
};

inline constexpr std::size_t kPacketBytes = sizeof(PacketHeader) + kEagerBytes;

struct Packet {
  PacketHeader header;
  std::span<const std::byte> payload;  // of an eager message
};

// Returns the packet in `bytes`, which must have at least a header. The payload refers to `bytes`.
// Throws TransportFailure if no rank of this build sends such bytes.
[[nodiscard]] Packet read_packet(std::span<const std::byte> bytes);

}  // namespace bp
