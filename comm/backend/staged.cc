#include "comm/backend/staged.h"

#include <utility>

#include "comm/backend/pieces.h"
#include "comm/device/device.h"

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
