// What ranks tell each other about their messages. A packet is a header and, where the message is
// short enough to travel before its receive is posted (an eager message), the message itself.
//
// The ranks of one job run one build on one kind of machine, so a header is sent as it lies.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "bp/types.h"

namespace bp {

// A message of more bytes waits at its sender until a receive matches it (rendezvous).
inline constexpr std::size_t kEagerBytes = std::size_t{64} << 10;

struct PacketHeader {
  enum class Kind : std::uint8_t {
    eager,       // a message, whole
    rendezvous,  // a message whose data wait to be received on message_slot()
    credit,      // nothing but `consumed`
    flush,       // asks for a credit as soon as there is one, from now on
  };
  static constexpr std::size_t kNameShown = 80;

  std::uint64_t group = 0;     // a hash of the communicator's name
  std::uint64_t number = 0;    // of the message, among those of this sender to this receiver
  std::uint64_t count = 0;     // elements
  std::uint64_t name = 0;      // a hash of the whole name
  std::uint64_t consumed = 0;  // eager messages of the packet's receiver that were received so far
  std::int32_t tag = 0;
  Kind kind = Kind::credit;
  DataType type = DataType::u8;
  std::uint16_t name_bytes = 0;                  // of name_shown
  std::array<char, kNameShown> name_shown = {};  // its beginning, for texts

  [[nodiscard]] std::size_t bytes() const { return count * size_of(type); }
};

inline constexpr std::size_t kPacketBytes = sizeof(PacketHeader) + kEagerBytes;

struct Packet {
  PacketHeader header;
  std::span<const std::byte> payload;  // of an eager message
};

// Returns the packet that lies in `bytes`, which are at least a header; the payload is a part of
// them. Throws TransportFailure where they are not what a rank of this build sends.
[[nodiscard]] Packet read_packet(std::span<const std::byte> bytes);

}  // namespace bp
