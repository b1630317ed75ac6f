// How the ranks of a host cut a vector between them (comm/backend/shared.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "bp/collective.h"

namespace bp {

inline constexpr std::size_t kCacheLine = 64;

// Ranks are given whole lines, so that no two write into one.
[[nodiscard]] constexpr std::size_t whole_lines(std::size_t bytes) {
  return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
}

// At least one, in which an empty vector is worked on.
[[nodiscard]] inline std::size_t steps_of(std::size_t bytes, std::size_t a_step) {
  return std::max(std::size_t{1}, (bytes + a_step - 1) / a_step);
}

inline void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes > 0 && to != from) std::memcpy(to, from, bytes);
}

}  // namespace bp
