#include "comm/backend/piece_stage.h"

#include <atomic>
#include <chrono>
#include <exception>

#include "base/deadline.h"
#include "comm/device/ask_until.h"

namespace bp {

PieceStage::PieceStage(const Device& device, std::size_t bytes)
    : device_(device),
      down_(memory_of(device).on_own_stream()),
      up_(memory_of(device).on_own_stream()) {
  for (Buffer& one : buffers_) one.memory = memory_of(device).allocate_on_host(bytes);
}

PieceStage::~PieceStage() {
  constexpr std::chrono::milliseconds kLeft{1000};
  const std::atomic<bool> never{false};
  for (const Memory* const copies : {down_.get(), up_.get()}) {
    try {
      const auto end = copies->end();
      static_cast<void>(ask_until(Deadline(kLeft), never, [&] { return end->reached(); }));
    } catch (const std::exception&) {  // the device has failed, and copies nothing more
    }
  }
}

void PieceStage::read(std::size_t piece, const ConstView& from) {
  Buffer& there = buffer(piece);
  if (there.gone) down_->wait_for(*there.gone);
  down_->read(there.memory.get(), from.data, from.bytes());
  there.arrived = down_->end();
}

void PieceStage::write(std::size_t piece, const View& to) {
  Buffer& there = buffer(piece);
  up_->write(to.data, there.memory.get(), to.bytes());
  there.gone = up_->end();
  last_ = there.gone;
}

}  // namespace bp
