#include "comm/reduce/int8.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "comm/reduce/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "comm/reduce/int8.cc"
#include <hwy/foreach_target.h>  // includes this file once for each instruction set

#include "comm/reduce/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bp::HWY_NAMESPACE {

constexpr std::size_t kFloats = kInt8Block * sizeof(float);
constexpr std::size_t kFactor = sizeof(std::uint16_t);

// No vector is longer than a block.
using D = hn::CappedTag<float, kInt8Block>;
using Bits = hn::RebindToUnsigned<D>;
using Whole = hn::RebindToSigned<D>;
using Small = hn::Rebind<std::int8_t, D>;

// Returns the largest magnitude as bits, among which a NaN is larger than infinity.
HWY_INLINE std::uint32_t largest(const std::byte* in) {
  const Bits d;
  auto most = hn::Zero(d);
  for (std::size_t i = 0; i < kInt8Block; i += hn::Lanes(d)) {
    const auto bits = hn::LoadU(d, as<std::uint32_t>(in) + i);
    most = hn::Max(most, hn::And(bits, hn::Set(d, 0x7fffffff)));
  }
  return hn::GetLane(hn::MaxOfLanes(d, most));
}

HWY_INLINE float factor_for(std::uint32_t most) {
  const float exact = std::bit_cast<float>(most) / 127;
  const std::uint32_t up = (std::bit_cast<std::uint32_t>(exact) + 0xffffU) & 0xffff0000U;
  return std::bit_cast<float>(std::max(up, 0x00800000U));
}

HWY_INLINE void write_factor(std::byte* out, std::uint32_t bits) {
  const auto upper = static_cast<std::uint16_t>(bits >> 16);
  std::memcpy(out, &upper, kFactor);
}

HWY_INLINE float factor_of(const std::byte* in) {
  std::uint16_t upper = 0;
  std::memcpy(&upper, in, kFactor);
  return std::bit_cast<float>(std::uint32_t{upper} << 16);
}

// The addition rounds to an integer, since the spacing of f32 is 1 there. The lowest bits of the
// sum are then that integer.
HWY_INLINE void narrow_block(std::byte* out, const std::byte* in, std::byte* errors) {
  constexpr float kShift = 0x1.8p23F;
  const std::uint32_t most = largest(in);
  if (most >= 0x7f800000U) {
    write_factor(out, 0x7fc00000U);
    std::memset(out + kFactor, 0, kInt8Block);
    std::memset(errors, 0, kFloats);
    return;
  }
  const float factor = factor_for(most);
  write_factor(out, std::bit_cast<std::uint32_t>(factor));
  const D d;
  const Whole whole;
  const auto inverse = hn::Set(d, 1 / factor);
  for (std::size_t i = 0; i < kInt8Block; i += hn::Lanes(d)) {
    const auto v = hn::LoadU(d, as<float>(in) + i);
    const auto shifted = hn::Add(hn::Mul(v, inverse), hn::Set(d, kShift));
    const auto n = hn::Sub(hn::BitCast(whole, shifted), hn::BitCast(whole, hn::Set(d, kShift)));
    hn::StoreU(hn::DemoteTo(Small(), n), Small(), as<std::int8_t>(out + kFactor) + i);
    const auto sent = hn::Mul(hn::ConvertTo(d, n), hn::Set(d, factor));
    hn::StoreU(hn::Sub(v, sent), d, as<float>(errors) + i);
  }
}

template <bool kAdds>
HWY_INLINE void widen_block(std::byte* out, const std::byte* in) {
  const D d;
  const auto factor = hn::Set(d, factor_of(in));
  for (std::size_t i = 0; i < kInt8Block; i += hn::Lanes(d)) {
    const auto n = hn::PromoteTo(Whole(), hn::LoadU(Small(), as<std::int8_t>(in + kFactor) + i));
    auto v = hn::Mul(hn::ConvertTo(d, n), factor);
    if (kAdds) v = hn::Add(hn::LoadU(d, as<float>(out) + i), v);
    hn::StoreU(v, d, as<float>(out) + i);
  }
}

void narrow_to_int8(std::byte* out, const std::byte* in, std::byte* errors, std::size_t count) {
  std::byte unwanted[kFloats];
  std::size_t done = 0;
  for (; done + kInt8Block <= count; done += kInt8Block) {
    const std::size_t at = done * sizeof(float);
    narrow_block(out, in + at, errors == nullptr ? unwanted : errors + at);
    out += kFactor + kInt8Block;
  }
  if (done == count) return;
  std::byte last[kFactor + kInt8Block];
  const std::size_t rest = (count - done) * sizeof(float);
  narrow_block(last, Padded<kFloats>(in + done * sizeof(float), rest).bytes, unwanted);
  std::memcpy(out, last, kFactor + count - done);
  if (errors != nullptr) std::memcpy(errors + done * sizeof(float), unwanted, rest);
}

template <bool kAdds>
HWY_INLINE void widen_blocks(std::byte* out, const std::byte* in, std::size_t count) {
  std::size_t done = 0;
  for (; done + kInt8Block <= count; done += kInt8Block) {
    widen_block<kAdds>(out, in);
    out += kFloats;
    in += kFactor + kInt8Block;
  }
  if (done == count) return;
  const std::size_t rest = (count - done) * sizeof(float);
  Padded<kFloats> last(out, rest);
  widen_block<kAdds>(last.bytes, Padded<kFactor + kInt8Block>(in, kFactor + count - done).bytes);
  std::memcpy(out, last.bytes, rest);
}

void widen_from_int8(bool adds, std::byte* out, const std::byte* in, std::size_t count) {
  adds ? widen_blocks<true>(out, in, count) : widen_blocks<false>(out, in, count);
}

}  // namespace bp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bp {

HWY_EXPORT(narrow_to_int8);
HWY_EXPORT(widen_from_int8);

void to_int8(std::byte* out, const std::byte* in, std::byte* errors, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(narrow_to_int8)(out, in, errors, count);
}
void from_int8(std::byte* out, const std::byte* in, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(widen_from_int8)(false, out, in, count);
}
void add_int8(std::byte* into, const std::byte* in, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(widen_from_int8)(true, into, in, count);
}

}  // namespace bp
#endif
