// A block (the part of the data that one rank owns) travels in segments, so that a rank reduces one
// segment while the next is in flight:
//
//   block 2        |---- segment 0 ----|---- segment 1 ----|---- segment 2 ----|
//   wire                  arriving
//   reduction                                arriving ...       being reduced:  none waits
//
// All blocks of an operation have the same number of segments, so sender and receiver agree without
// a message. A block with fewer elements than segments has empty segments at its end, which no rank
// sends.
#pragma once

#include <algorithm>
#include <cstddef>

#include "bp/collective.h"

namespace bp {

// Each segment costs its sender and its receiver one or two wake-ups, so segments are as long as
// the overlap allows: over Gloo, 16 MiB in segments of 256 KiB took three times as many context
// switches as in segments of 1 MiB.
struct SegmentLimits {
  std::size_t max_bytes = std::size_t{1} << 20;
  std::size_t min_bytes = std::size_t{256} << 10;  // shorter ones cost more than the overlap saves
};

// Returns the number of segments for blocks of up to `block_bytes`: the fewest that `max_bytes`
// allows, but at least 2 if each of these has at least `min_bytes`. Never less than 1.
[[nodiscard]] constexpr int segment_count(std::size_t block_bytes,
                                          const SegmentLimits& limits = {}) {
  const std::size_t needed = (block_bytes + limits.max_bytes - 1) / limits.max_bytes;
  const std::size_t wanted = block_bytes >= 2 * limits.min_bytes ? 2 : 1;
  return static_cast<int>(std::max(needed, wanted));
}

// Returns segment s of `segments`. Its offset has the same origin as that of the block.
[[nodiscard]] inline Block segment_of(const Block& block, int segments, int s) {
  const Block inside = block_of(block.count, segments, s);
  return {.offset = block.offset + inside.offset, .count = inside.count};
}

}  // namespace bp
