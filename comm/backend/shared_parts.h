// How the ranks of a host divide a vector among them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "bp/collective.h"
#include "comm/reduce/reduce.h"

namespace bp {

inline constexpr std::size_t kCacheLine = 64;
// Up to this size a reduction needs one barrier only, since a second one would cost more than
// sharing the work saves.
inline constexpr std::size_t kAtOnce = std::size_t{8} << 10;

// Ranks get whole cache lines, so that no two write into one.
[[nodiscard]] constexpr std::size_t whole_lines(std::size_t bytes) {
  return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
}

// Returns the part of the first `length` bytes of a chunk that lies in a rank's share of the whole
// chunk, in bytes.
[[nodiscard]] inline Block share_of(std::size_t chunk, std::size_t length, int ranks, int rank) {
  const Block lines = block_of(chunk / kCacheLine, ranks, rank);
  const std::size_t begin = std::min(length, lines.offset * kCacheLine);
  return {begin, std::min(length, (lines.offset + lines.count) * kCacheLine) - begin};
}

// Reduces the parts of all ranks, and divides for an average.
inline void reduce_vectors(DataType type,
                           ReduceOp op,
                           std::span<std::byte* const> outs,
                           std::span<const std::byte* const> parts,
                           std::size_t count) {
  if (op == ReduceOp::average) return average_parts(type, outs, parts, count);
  reduce_parts(type, op, outs, parts, count);
}

// Returns the number of steps. It is at least 1, also for an empty vector.
[[nodiscard]] inline std::size_t steps_of(std::size_t bytes, std::size_t a_step) {
  return std::max(std::size_t{1}, (bytes + a_step - 1) / a_step);
}

}  // namespace bp
