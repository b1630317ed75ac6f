#include "comm/backend/device/staged.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>

#include "base/deadline.h"
#include "comm/backend/common/pieces.h"
#include "comm/device/ask_until.h"
#include "comm/device/device_memory.h"

namespace bp {
namespace {

constexpr std::size_t kAlignment = 64;

std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// Returns whether `inner` lies in `outer`, as the input of an all_gather may.
bool lies_in(const ConstView& inner, const View& outer) {
  return inner.bytes() > 0 && inner.data >= outer.data &&
         inner.data + inner.bytes() <= outer.data + outer.bytes();
}

}  // namespace

// Copies pieces of device memory to host memory and back, on a stream for each direction. Piece i
// uses buffer i mod 3 of pinned memory: while the host reduces one piece, the next one is copied to
// the host and the previous one is copied back. Only the destructor blocks.
class PieceStage {
 public:
  // A piece has at most `bytes`.
  PieceStage(const Device& device, std::size_t bytes)
      : device_(device),
        down_(memory_of(device).on_own_stream()),
        up_(memory_of(device).on_own_stream()) {
    for (Buffer& one : buffers_) one.memory = memory_of(device).allocate_on_host(bytes);
  }

  // Waits up to a second for copies that a failure has left.
  ~PieceStage() {
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

  PieceStage(const PieceStage&) = delete;
  PieceStage& operator=(const PieceStage&) = delete;

  [[nodiscard]] const Device& device() const { return device_; }
  // Returns the host memory of a piece, which it has from its read() on.
  [[nodiscard]] std::byte* on_host(std::size_t piece) const { return buffer(piece).memory.get(); }

  // Begins to copy a piece to the host, once the piece three before has been copied back from the
  // same buffer.
  void read(std::size_t piece, const ConstView& from) {
    Buffer& there = buffer(piece);
    if (there.gone) down_->wait_for(*there.gone);
    down_->read(there.memory.get(), from.data, from.bytes());
    there.arrived = down_->end();
  }

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
  void write(std::size_t piece, const View& to) {
    Buffer& there = buffer(piece);
    up_->write(to.data, there.memory.get(), to.bytes());
    there.gone = up_->end();
    last_ = there.gone;
  }

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

StagedBackend::StagedBackend(Backend& host, std::size_t piece) : host_(host), piece_(piece) {}
StagedBackend::~StagedBackend() = default;

void StagedBackend::run(const Operation& operation, CollectiveCall& call) {
  call.wait_for_device();
  if (Pieces(operation, piece_).count() > 1) return run_in_pieces(operation, call);
  const Memory& memory = memory_of(operation.device);
  const ConstView& input = operation.input;
  const View& output = operation.output;
  const bool shared = lies_in(input, output);
  const std::size_t input_room = shared ? 0 : aligned(input.bytes());
  std::byte* const staged = room_.at_least(input_room + output.bytes(), operation.device).data();

  Operation on_host = operation;
  on_host.device = {};
  on_host.output = {staged + input_room, output.count, output.type};
  on_host.input = {shared ? on_host.output.data + (input.data - output.data) : staged, input.count,
                   input.type};
  // An operation with an input of its own only writes its output.
  if (input.count == 0 || shared) memory.read(on_host.output.data, output.data, output.bytes());
  if (!shared) memory.read(staged, input.data, input.bytes());
  host_.run(on_host, call);
  const bool only_read = operation.kind == Operation::Kind::reduce && call.rank() != operation.root;
  if (!only_read) memory.write(output.data, on_host.output.data, output.bytes());
}

void StagedBackend::run_in_pieces(const Operation& operation, CollectiveCall& call) {
  if (!stage_ || stage_->device() != operation.device) {
    stage_ = std::make_unique<PieceStage>(operation.device, piece_);
  }
  try {
    stage_pieces(operation, call);
  } catch (...) {
    stage_.reset();  // the caller may free memory from which a copy still reads
    throw;
  }
}

// While one piece is with the host's backend, the next one is copied there, and the last one back.
void StagedBackend::stage_pieces(const Operation& operation, CollectiveCall& call) {
  using Kind = Operation::Kind;
  const bool is_root = call.rank() == operation.root;
  const bool reads = operation.kind != Kind::broadcast || is_root;
  const bool writes =
      operation.kind == Kind::all_reduce || (operation.kind == Kind::reduce) == is_root;
  const Pieces pieces(operation, piece_);
  for (std::size_t i = 0; i < pieces.count(); ++i) {
    const View here = pieces.at(i).output;
    if (i == 0 && reads) stage_->read(i, here);
    if (i + 1 < pieces.count() && reads) stage_->read(i + 1, pieces.at(i + 1).output);
    if (const DeviceEvent* const free = reads ? stage_->arrival(i) : stage_->departure(i)) {
      call.wait_on_device(*free);
    }
    Operation on_host = pieces.at(i);
    on_host.device = {};
    on_host.output.device = {};
    on_host.output.data = stage_->on_host(i);
    host_.run(on_host, call);
    if (writes) stage_->write(i, here);
  }
  if (writes) call.wait_on_device(*stage_->end());
}

}  // namespace bp
