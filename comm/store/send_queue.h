// The messages that wait to be sent to one client, in order, without a network. A message is sealed
// only just before it is sent, and answers share the value that they carry. So a client that asks
// for much and reads little costs little memory and no computing time.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "comm/store/seal.h"
#include "comm/store/store_wire.h"

namespace bp {

// Threads: one at a time.
class StoreSendQueue {
 public:
  // Queues a complete frame of the handshake.
  void push_frame(std::string frame);
  // Queues a message. `value`, unless null, is its last string.
  void push(StoreMessage message, SharedValue value = {});

  [[nodiscard]] bool empty() const { return queued_.empty() && batch_.empty(); }
  // The number of bytes that are not sent yet: those queued and those of the batch.
  [[nodiscard]] std::size_t unsent() const { return unsent_; }
  // The memory that they take, in bytes. A value in successive messages counts once.
  [[nodiscard]] std::size_t held() const { return held_; }

  // Takes messages from the queue until the batch has at least kBatch bytes or the queue is empty,
  // and seals them with `seal`, which may be null while only frames are queued. Returns the bytes
  // to send next; they stay valid until batch_sent(), which must be called before the next batch.
  [[nodiscard]] std::vector<std::string_view> next_batch(FrameSeal* seal);
  void batch_sent();

  static constexpr std::size_t kBatch = std::size_t{64} << 10;

 private:
  struct Queued {
    std::string frame;  // if not empty, the other two are not used
    StoreMessage message;
    SharedValue value;
    std::size_t size = 0;  // of the whole frame
    std::size_t held = 0;
  };
  struct Piece {
    std::string bytes;
    SharedValue value;  // sent after `bytes`
  };

  void add(Queued queued);
  void take_next(FrameSeal* seal);

  std::deque<Queued> queued_;
  std::vector<Piece> batch_;
  std::size_t batch_size_ = 0;
  std::size_t batch_held_ = 0;
  std::size_t unsent_ = 0;
  std::size_t held_ = 0;
};

}  // namespace bp
