// A block (what belongs to one rank) travels in segments (what is in flight at one time), so that
// one segment is reduced while the next is on its way:
//
//   block 2        |---- segment 0 ----|---- segment 1 ----|---- segment 2 ----|
//   wire                  arriving
//   reduction                                arriving ...       being reduced:  none waits
//
// All blocks of an operation are cut into the same number of segments, so sender and receiver
// agree without talking; a block with fewer elements than that has empty segments at its end,
// which nobody sends.
#pragma once

#include <algorithm>
#include <cstddef>

#include "bp/collective.h"

namespace bp {

// Each segment costs its two ends a wake-up or two, so they are as long as the overlap allows: over
// Gloo, 256 KiB took three times as many context switches for 16 MiB as 1 MiB does.
struct SegmentLimits {
  std::size_t max_bytes = std::size_t{1} << 20;
  std::size_t min_bytes = std::size_t{256} << 10;  // below, a message costs more than it hides
};

// Into how many segments blocks of up to `block_bytes` are cut: as few as `max_bytes` allows, but
// two where each still has `min_bytes`. At least 1.
[[nodiscard]] constexpr int segment_count(std::size_t block_bytes,
                                          const SegmentLimits& limits = {}) {
  const std::size_t needed = (block_bytes + limits.max_bytes - 1) / limits.max_bytes;
  const std::size_t wanted = block_bytes >= 2 * limits.min_bytes ? 2 : 1;
  return static_cast<int>(std::max(needed, wanted));
}

// Segment s of `segments`; its offset counts from where the block's does.
[[nodiscard]] inline Block segment_of(const Block& block, int segments, int s) {
  const Block inside = block_of(block.count, segments, s);
  return {block.offset + inside.offset, inside.count};
}

}  // namespace bp
