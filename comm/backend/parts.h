// Parts of the vector that an algorithm works on.
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

// What `data` becomes with as many elements that were received; not those that arrived in place.
void apply_received(ReceiveAction how, const View& data, ReduceOp op, const std::byte* received);

}  // namespace bp
