// Copies pieces of device memory to host memory and back, on a stream for each direction. Piece i
// uses buffer i mod 3 of pinned memory: while the host reduces one piece, the next one is copied to
// the host and the previous one is copied back. Only the destructor blocks.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "comm/device/device.h"

namespace bp {

class PieceStage {
 public:
  // A piece has at most `bytes`.
  PieceStage(const Device& device, std::size_t bytes);
  ~PieceStage();  // waits up to a second for copies that a failure has left
  PieceStage(const PieceStage&) = delete;
  PieceStage& operator=(const PieceStage&) = delete;

  [[nodiscard]] const Device& device() const { return device_; }
  // Returns the host memory of a piece, which it has from its read() on.
  [[nodiscard]] std::byte* on_host(std::size_t piece) const { return buffer(piece).memory.get(); }
  // Begins to copy a piece to the host, once the piece three before has been copied back from the
  // same buffer.
  void read(std::size_t piece, const ConstView& from);
  // Returns the event that completes with the last read() of this piece; null if it has none.
  [[nodiscard]] const DeviceEvent* arrival(std::size_t piece) const {
    return buffer(piece).arrived.get();
  }
  // Returns the event after which the buffer of this piece is free again; null if no write() uses
  // it.
  [[nodiscard]] const DeviceEvent* departure(std::size_t piece) const {
    return buffer(piece).gone.get();
  }
  // Begins to copy a piece back to the device.
  void write(std::size_t piece, const View& to);
  // Returns the event that completes with the last write(); null if there is none.
  [[nodiscard]] const DeviceEvent* end() const { return last_.get(); }

 private:
  struct Buffer {
    std::shared_ptr<std::byte> memory;
    std::shared_ptr<const DeviceEvent> arrived;  // read() is complete
    std::shared_ptr<const DeviceEvent> gone;     // write() is complete
  };
  [[nodiscard]] const Buffer& buffer(std::size_t piece) const {
    return buffers_[piece % buffers_.size()];
  }
  [[nodiscard]] Buffer& buffer(std::size_t piece) { return buffers_[piece % buffers_.size()]; }

  Device device_;
  std::array<Buffer, 3> buffers_;
  std::unique_ptr<const Memory> down_;  // to the host
  std::unique_ptr<const Memory> up_;
  std::shared_ptr<const DeviceEvent> last_;
};

}  // namespace bp
