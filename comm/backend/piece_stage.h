// Copies pieces of device memory to host memory and back, on two streams of their own. Pieces take
// turns in three places of pinned memory: while one is reduced on the host, the next one comes and
// the one before goes back. Nothing here waits but the destructor.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "comm/device/device.h"

namespace bp {

class PieceStage {
 public:
  // Of `bytes` each.
  PieceStage(const Device& device, std::size_t bytes);
  ~PieceStage();  // waits up to a second for copies that a failure has left
  PieceStage(const PieceStage&) = delete;
  PieceStage& operator=(const PieceStage&) = delete;

  [[nodiscard]] const Device& device() const { return device_; }
  // The host memory of a piece, from its read() on.
  [[nodiscard]] std::byte* on_host(std::size_t piece) const { return place(piece).memory.get(); }
  // Begins to copy a piece to the host. It takes the place of the third one before, once that has
  // gone back.
  void read(std::size_t piece, const ConstView& from);
  // When the last read() of this piece is done; null: it has none.
  [[nodiscard]] const Moment* arrival(std::size_t piece) const {
    return place(piece).arrived.get();
  }
  // When the place of this piece is free of the last write(); null: it has none.
  [[nodiscard]] const Moment* departure(std::size_t piece) const { return place(piece).gone.get(); }
  // Begins to copy a piece back.
  void write(std::size_t piece, const View& to);
  // When the last write() of all is done; null: there is none.
  [[nodiscard]] const Moment* end() const { return last_.get(); }

 private:
  struct Place {
    std::shared_ptr<std::byte> memory;
    std::shared_ptr<const Moment> arrived;
    std::shared_ptr<const Moment> gone;  // back
  };
  [[nodiscard]] const Place& place(std::size_t piece) const {
    return places_[piece % places_.size()];
  }
  [[nodiscard]] Place& place(std::size_t piece) { return places_[piece % places_.size()]; }

  Device device_;
  std::array<Place, 3> places_;
  std::unique_ptr<const Memory> down_;  // to the host
  std::unique_ptr<const Memory> up_;
  std::shared_ptr<const Moment> last_;
};

}  // namespace bp
