// Vectors of each element type over unaligned memory, compiled once for every kind of machine.
// Included after foreach_target.h by each file of kernels.
//
// Lanes<T>::apply(op, out, in...) computes one step of kBytes bytes: op(d, x...) with x the vectors
// at in..., where halves reach op as f32. map() runs it over whole arrays; what is left at the end
// goes through the same code by way of a buffer, so no element has a path of its own.
#if defined(BP_COMM_REDUCE_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BP_COMM_REDUCE_LANES_INL_H_
#undef BP_COMM_REDUCE_LANES_INL_H_
#else
#define BP_COMM_REDUCE_LANES_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "bp/types.h"

HWY_BEFORE_NAMESPACE();
namespace bp::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
HWY_INLINE T* as(std::byte* bytes) {
  return reinterpret_cast<T*>(bytes);
}
template <class T>
HWY_INLINE const T* as(const std::byte* bytes) {
  return reinterpret_cast<const T*>(bytes);
}

using F32 = hn::ScalableTag<float>;
using U32 = hn::ScalableTag<std::uint32_t>;
using VF32 = hn::Vec<F32>;
using VU32 = hn::Vec<U32>;

template <class T>
struct Lanes {
  using D = hn::ScalableTag<T>;
  static constexpr std::size_t kElementBytes = sizeof(T);
  static constexpr std::size_t kMaxBytes = hn::MaxLanes(D()) * sizeof(T);
  static HWY_INLINE std::size_t bytes() { return hn::Lanes(D()) * sizeof(T); }

  template <class Op, class... In>
  static HWY_INLINE void apply(const Op& op, std::byte* out, const In*... in) {
    const D d;
    hn::StoreU(op(d, hn::LoadU(d, as<T>(in))...), d, as<T>(out));
  }
};

HWY_INLINE VF32 canonical(VF32 v) {
  return hn::IfThenElse(hn::IsNaN(v), hn::BitCast(F32(), hn::Set(U32(), 0x7fc00000)), v);
}

// f32 lanes rounded to bf16, left in the upper halves of the lanes; the lower halves are rubbish.
HWY_INLINE VU32 round_to_upper_half(VF32 v) {
  const U32 d;
  const VU32 bits = hn::BitCast(d, v);
  const VU32 odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1));
  const VU32 rounded = hn::Add(hn::Add(bits, hn::Set(d, 0x7fff)), odd);
  return hn::IfThenElse(hn::RebindMask(d, hn::IsNaN(v)), hn::Set(d, 0x7fc00000), rounded);
}

template <>
struct Lanes<BFloat16> {
  static constexpr std::size_t kElementBytes = 2;
  static constexpr std::size_t kMaxBytes = hn::MaxLanes(U32()) * 4;
  static HWY_INLINE std::size_t bytes() { return hn::Lanes(U32()) * 4; }

  // A 32-bit lane holds two elements. Each is a f32 when it stands in the upper half above zeros.
  static HWY_INLINE VF32 even(VU32 pair) { return hn::BitCast(F32(), hn::ShiftLeft<16>(pair)); }
  static HWY_INLINE VF32 odd(VU32 pair) {
    return hn::BitCast(F32(), hn::And(pair, hn::Set(U32(), 0xffff0000)));
  }

  template <class Op, class... In>
  static HWY_INLINE void apply(const Op& op, std::byte* out, const In*... in) {
    const U32 d;
    const VU32 low = round_to_upper_half(op(F32(), even(hn::LoadU(d, as<std::uint32_t>(in)))...));
    const VU32 high = round_to_upper_half(op(F32(), odd(hn::LoadU(d, as<std::uint32_t>(in)))...));
    const VU32 both = hn::Or(hn::ShiftRight<16>(low), hn::And(high, hn::Set(d, 0xffff0000)));
    hn::StoreU(both, d, as<std::uint32_t>(out));
  }
};

// Half as many bytes as a vector has, so that they fill one when widened.
using U16 = hn::Rebind<std::uint16_t, F32>;
using VU16 = hn::Vec<U16>;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
// The machine converts f16, rounding to nearest even and keeping NaNs and subnormals.
HWY_INLINE VF32 from_f16(VU16 bits) {
  return hn::PromoteTo(F32(), hn::BitCast(hn::Rebind<hwy::float16_t, F32>(), bits));
}
HWY_INLINE VU16 to_f16(VF32 v) {
  return hn::BitCast(U16(), hn::DemoteTo(hn::Rebind<hwy::float16_t, F32>(), canonical(v)));
}
#else
// Highway 1.0.3 truncates here and makes numbers of infinities. As in halves.h.
HWY_INLINE VF32 from_f16(VU16 bits16) {
  const F32 df;
  const U32 d;
  const VU32 bits = hn::PromoteTo(d, bits16);
  const VU32 sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(d, 0x8000)));
  const VU32 rest = hn::And(bits, hn::Set(d, 0x7fff));
  const VU32 normal = hn::Add(hn::ShiftLeft<13>(rest), hn::Set(d, std::uint32_t{127 - 15} << 23));
  const VF32 small = hn::Mul(hn::ConvertTo(df, hn::BitCast(hn::RebindToSigned<U32>(), rest)),
                             hn::Set(df, 0x1p-24F));
  // Above infinity only NaNs: shifted they keep their bits, and stay NaNs.
  const VU32 huge = hn::Or(hn::Set(d, 0x7f800000), hn::ShiftLeft<13>(rest));
  VU32 result = hn::IfThenElse(hn::Lt(rest, hn::Set(d, 0x0400)), hn::BitCast(d, small), normal);
  result = hn::IfThenElse(hn::Gt(rest, hn::Set(d, 0x7bff)), huge, result);
  return hn::BitCast(df, hn::Or(sign, result));
}
HWY_INLINE VU16 to_f16(VF32 v) {
  const F32 df;
  const U32 d;
  const VU32 bits = hn::BitCast(d, v);
  const VU32 sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 0x8000));
  const VU32 rest = hn::And(bits, hn::Set(d, 0x7fffffff));
  const VU32 odd = hn::And(hn::ShiftRight<13>(rest), hn::Set(d, 1));
  const VU32 biased = hn::Sub(rest, hn::Set(d, (std::uint32_t{127 - 15} << 23) - 0x0fff));
  const VU32 normal = hn::ShiftRight<13>(hn::Add(biased, odd));
  const VF32 shifted = hn::Add(hn::BitCast(df, rest), hn::Set(df, 0.5F));
  const VU32 small = hn::Sub(hn::BitCast(d, shifted), hn::BitCast(d, hn::Set(df, 0.5F)));
  VU32 result = hn::IfThenElse(hn::Lt(rest, hn::Set(d, 0x38800000)), small, normal);
  result = hn::IfThenElse(hn::Gt(rest, hn::Set(d, 0x477fffff)), hn::Set(d, 0x7c00), result);
  result = hn::Or(result, sign);
  result = hn::IfThenElse(hn::Gt(rest, hn::Set(d, 0x7f800000)), hn::Set(d, 0x7e00), result);
  return hn::DemoteTo(U16(), hn::BitCast(hn::RebindToSigned<U32>(), result));
}
#endif

template <>
struct Lanes<Float16> {
  static constexpr std::size_t kElementBytes = 2;
  static constexpr std::size_t kMaxBytes = hn::MaxLanes(U16()) * 2;
  static HWY_INLINE std::size_t bytes() { return hn::Lanes(U16()) * 2; }

  template <class Op, class... In>
  static HWY_INLINE void apply(const Op& op, std::byte* out, const In*... in) {
    const U16 d;
    const VF32 result = op(F32(), from_f16(hn::LoadU(d, as<std::uint16_t>(in)))...);
    hn::StoreU(to_f16(result), d, as<std::uint16_t>(out));
  }
};

// The first `size` bytes of `in`, above zeros; lives as long as the full expression it stands in.
template <std::size_t kBytes>
struct Padded {
  HWY_INLINE Padded(const std::byte* in, std::size_t size) { std::memcpy(bytes, in, size); }
  std::byte bytes[kBytes] = {};
};

// out[i] = op(in[i]...) for `count` elements.
template <class T, class Op, class... In>
HWY_INLINE void map(const Op& op, std::byte* out, std::size_t count, const In*... in) {
  using L = Lanes<T>;
  const std::size_t total = count * L::kElementBytes;
  const std::size_t step = L::bytes();
  std::size_t done = 0;
  for (; done + step <= total; done += step) L::apply(op, out + done, (in + done)...);
  if (done == total) return;
  std::byte last[L::kMaxBytes];
  L::apply(op, last, Padded<L::kMaxBytes>(in + done, total - done).bytes...);
  std::memcpy(out + done, last, total - done);
}

}  // namespace bp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // BP_COMM_REDUCE_LANES_INL_H_
