#include "comm/reduce/stream.h"

#include <cstdint>
#include <cstring>

#include "comm/reduce/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "comm/reduce/stream.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>  // includes this file once for each kind of machine
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bp::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void stream_lines(std::byte* to, const std::byte* from, std::size_t bytes) {
  const hn::ScalableTag<std::uint8_t> d;
  auto* const out = reinterpret_cast<std::uint8_t*>(to);
  const auto* const in = reinterpret_cast<const std::uint8_t*>(from);
  for (std::size_t i = 0; i < bytes; i += hn::Lanes(d))
    hn::Stream(hn::LoadU(d, in + i), d, out + i);
}

}  // namespace bp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bp {

HWY_EXPORT(stream_lines);

void stream(std::byte* to, const std::byte* from, std::size_t bytes) {
  constexpr std::size_t kLine = 64;
  const std::size_t whole = bytes / kLine * kLine;
  if (whole > 0) HWY_DYNAMIC_DISPATCH(stream_lines)(to, from, whole);
  if (bytes > whole) std::memcpy(to + whole, from + whole, bytes - whole);
  hwy::FlushStream();
}

}  // namespace bp
#endif
