#include "comm/reduce/copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "comm/reduce/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "comm/reduce/copy.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>  // includes this file once for each instruction set
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bp::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Reads four vectors before it writes them: the compiler turns a loop over one into memcpy.
void copy_vectors(std::byte* to, const std::byte* from, std::size_t bytes) {
  const hn::ScalableTag<std::uint8_t> d;
  const std::size_t lanes = hn::Lanes(d);
  auto* const out = reinterpret_cast<std::uint8_t*>(to);
  const auto* const in = reinterpret_cast<const std::uint8_t*>(from);
  const auto copy_four = [&](std::size_t at) {
    const auto a = hn::LoadU(d, in + at);
    const auto b = hn::LoadU(d, in + at + lanes);
    const auto c = hn::LoadU(d, in + at + 2 * lanes);
    const auto e = hn::LoadU(d, in + at + 3 * lanes);
    hn::StoreU(a, d, out + at);
    hn::StoreU(b, d, out + at + lanes);
    hn::StoreU(c, d, out + at + 2 * lanes);
    hn::StoreU(e, d, out + at + 3 * lanes);
  };
  // The first and the last four overlap the others, which begin at a vector's boundary of `to`.
  const std::size_t four = 4 * lanes;
  copy_four(0);
  for (std::size_t at = lanes - reinterpret_cast<std::uintptr_t>(to) % lanes; at + four <= bytes;
       at += four) {
    copy_four(at);
  }
  copy_four(bytes - four);
}

void stream_lines(std::byte* to, const std::byte* from, std::size_t bytes) {
  const hn::ScalableTag<std::uint8_t> d;
  auto* const out = reinterpret_cast<std::uint8_t*>(to);
  const auto* const in = reinterpret_cast<const std::uint8_t*>(from);
  for (std::size_t i = 0; i < bytes; i += hn::Lanes(d)) {
    hn::Stream(hn::LoadU(d, in + i), d, out + i);
  }
}

}  // namespace bp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bp {

HWY_EXPORT(copy_vectors);
HWY_EXPORT(stream_lines);

void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  // Up to here memcpy uses vectors, too. Four vectors of every instruction set are shorter.
  constexpr std::size_t kByVectorsAnyway = 2048;
  if (to == from) return;
  if (bytes > kByVectorsAnyway) return HWY_DYNAMIC_DISPATCH(copy_vectors)(to, from, bytes);
  if (bytes > 0) std::memcpy(to, from, bytes);
}

void stream(std::byte* to, const std::byte* from, std::size_t bytes) {
  constexpr std::size_t kLine = 64;
  if (to == from || bytes == 0) return;
  const std::size_t before = std::min(bytes, -reinterpret_cast<std::uintptr_t>(to) % kLine);
  const std::size_t lines = (bytes - before) / kLine * kLine;
  const std::size_t after = before + lines;
  std::memcpy(to, from, before);
  if (lines > 0) HWY_DYNAMIC_DISPATCH(stream_lines)(to + before, from + before, lines);
  std::memcpy(to + after, from + after, bytes - after);
}

void finish_streams() { hwy::FlushStream(); }

}  // namespace bp
#endif
