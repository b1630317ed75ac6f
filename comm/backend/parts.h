// Parts of the vector of a collective, and what becomes of a part that was received.
#pragma once

#include <span>

#include "bp/collective.h"
#include "comm/schedule/folding.h"

namespace bp {

[[nodiscard]] inline View part_of(const View& whole, const Block& block) {
  return {whole.data + block.offset * size_of(whole.type), block.count, whole.type};
}
[[nodiscard]] inline std::span<std::byte> bytes_of(const View& view) {
  return {view.data, view.bytes()};
}

// Reduces `data.count` elements at `received` into `data`, in the operand order that `how` gives.
// Does nothing for `none` and for `replace`, whose elements were received straight into `data`.
void apply_received(ReceiveAction how, const View& data, ReduceOp op, const std::byte* received);

}  // namespace bp
