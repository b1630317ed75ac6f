// Flow control of eager messages with one peer, in both directions. A receiver keeps at most
// kMessages eager messages, or kBytes, of each sender. With every packet it tells the sender how
// many it has received so far; if it has no packet to send, it sends a credit after a quarter of
// the window.
//
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

#include "comm/message/messenger.h"
#include "comm/message/packet.h"

namespace bp {

class EagerWindow {
 public:
  static constexpr std::size_t kMessages = 32;
  static constexpr std::size_t kBytes = std::size_t{512} << 10;

  // As the sender. True if an eager message of `bytes` may be sent now.
  [[nodiscard]] bool has_room(std::size_t bytes) const {
    return unreceived_.size() < kMessages && unreceived_bytes_ + bytes <= kBytes;
  }
  void add_sent(OutgoingPacket packet) {
    unreceived_bytes_ += packet.payload;
    unreceived_.push_back(std::move(packet));
  }
  // The peer has received `total` eager messages since the beginning. Returns true if it has
  // received the last one just now.
  bool set_received(std::uint64_t total) {
    const bool was_empty = unreceived_.empty();
    for (; received_ < total && !unreceived_.empty(); ++received_) {
      unreceived_bytes_ -= unreceived_.front().payload;
      unreceived_.pop_front();  // its packet has arrived, since the message was received
    }
    return !was_empty && unreceived_.empty();
  }
  // The messages that the peer has not received.
  [[nodiscard]] std::deque<OutgoingPacket>& unreceived() { return unreceived_; }
  [[nodiscard]] const std::deque<OutgoingPacket>& unreceived() const { return unreceived_; }

  // As the receiver. This rank has received an eager message of `bytes`.
  void add_consumed(std::size_t bytes) {
    ++consumed_;
    unacknowledged_bytes_ += bytes;
  }
  // From now on the peer needs a credit for each message.
  void acknowledge_each() { acknowledges_each_ = true; }
  [[nodiscard]] bool credit_is_due() const {
    const std::uint64_t messages = consumed_ - acknowledged_;
    return messages > 0 &&
           (acknowledges_each_ || messages >= kMessages / 4 || unacknowledged_bytes_ >= kBytes / 4);
  }
  // Every packet to the peer carries the number of consumed messages.
  void acknowledge_in(PacketHeader& header) {
    header.consumed = acknowledged_ = consumed_;
    unacknowledged_bytes_ = 0;
  }

 private:
  std::deque<OutgoingPacket> unreceived_;
  std::size_t unreceived_bytes_ = 0;
  std::uint64_t received_ = 0;      // eager messages of this rank, by the peer
  std::uint64_t consumed_ = 0;      // eager messages of the peer, by this rank
  std::uint64_t acknowledged_ = 0;  // of the consumed ones
  std::size_t unacknowledged_bytes_ = 0;
  bool acknowledges_each_ = false;
};

}  // namespace bp
