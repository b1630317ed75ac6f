// What the server still has to send to one client, in order and without any network. A message is
// sealed only when its turn comes, and a value that several answers carry is held once, so that a
// client that asks for much and reads little costs little memory and no time.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "comm/store/seal.h"
#include "comm/store/wire.h"

namespace bp {

// Not for two threads at once.
class StoreSendQueue {
 public:
  // A whole frame, of the handshake.
  void push_frame(std::string frame);
  // `value`, where there is one, is the message's last string.
  void push(StoreMessage message, SharedValue value = {});

  [[nodiscard]] bool empty() const { return queued_.empty() && batch_.empty(); }
  // The bytes that the client has still to take: those queued and those of the batch.
  [[nodiscard]] std::size_t unsent() const { return unsent_; }
  // The memory that they take. A value in successive messages counts once.
  [[nodiscard]] std::size_t held() const { return held_; }

  // Takes what is queued until that has kBatch bytes, and seals the messages among it by `seal`,
  // which may be null while only frames are queued. Returns the bytes to send next, which stay
  // where they are until batch_sent(). The previous batch must have been sent.
  [[nodiscard]] std::vector<std::string_view> next_batch(FrameSeal* seal);
  void batch_sent();

  static constexpr std::size_t kBatch = std::size_t{64} << 10;

 private:
  struct Queued {
    std::string frame;  // or, where this is empty:
    StoreMessage message;
    SharedValue value;
    std::size_t size = 0;  // of the whole frame
    std::size_t held = 0;
  };
  struct Piece {
    std::string bytes;
    SharedValue value;  // goes out behind them
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
