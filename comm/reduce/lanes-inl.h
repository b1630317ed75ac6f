// Vectors of each lane type over unaligned memory, compiled once for each instruction set. Each
// file of kernels includes this after foreach_target.h.
//
// There are two ways to go over arrays, each in steps of Lanes<T>::bytes() bytes. Halves reach `op`
// as f32.
//   map   out[i] = op(d, in[i]...), for a number of arrays known here (Lanes<T>::apply)
//   fold  outs[.][i] = op.finish(d, op(d, op(d, parts[0][i], parts[1][i]), ...)), for any number
//         of arrays; the result stays in registers until the end (Lanes<T>::fold)
// Elements behind the last whole vector go through the same code by way of a buffer, so no element
// has code of its own.
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
#include <span>

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

  // in(p) returns the address of part p; out(d, v) stores.
  template <class Op, class In, class Out>
  static HWY_INLINE void fold(const Op& op, std::size_t parts, const In& in, const Out& out) {
    const D d;
    auto all = hn::LoadU(d, as<T>(in(0)));
    for (std::size_t p = 1; p < parts; ++p) all = op(d, all, hn::LoadU(d, as<T>(in(p))));
    out(d, op.finish(d, all));
  }
};

HWY_INLINE VF32 canonical(VF32 v) {
  return hn::IfThenElse(hn::IsNaN(v), hn::BitCast(F32(), hn::Set(U32(), 0x7fc00000)), v);
}

// Rounds f32 lanes to bf16 in their upper halves; the lower halves are undefined. NaNs must be
// canonical: others could become infinities or zeros.
HWY_INLINE VU32 round_to_upper_half(VF32 v) {
  const U32 d;
  const VU32 bits = hn::BitCast(d, v);
  const VU32 down = hn::Add(bits, hn::Set(d, 0x7fff));
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  // The test is one instruction, and the masked addition needs no other.
  const auto is_odd = hn::TestBit(bits, hn::Set(d, 0x10000));
  return hn::IfThenElse(is_odd, hn::Add(bits, hn::Set(d, 0x8000)), down);
#else
  return hn::Add(down, hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1)));
#endif
}

template <>
struct Lanes<BFloat16> {
  static constexpr std::size_t kElementBytes = 2;
  static constexpr std::size_t kMaxBytes = hn::MaxLanes(U32()) * 4;
  static HWY_INLINE std::size_t bytes() { return hn::Lanes(U32()) * 4; }

  // A 32-bit lane holds two elements. Each is an f32 in the upper half above zeros.
  static HWY_INLINE VF32 even(VU32 pair) { return hn::BitCast(F32(), hn::ShiftLeft<16>(pair)); }
  static HWY_INLINE VF32 odd(VU32 pair) {
    return hn::BitCast(F32(), hn::And(pair, hn::Set(U32(), 0xffff0000)));
  }
  static HWY_INLINE VU32 pair_of(VF32 even, VF32 odd) {
    // Where no lane of the sum is NaN, no lane of either is.
    if (HWY_UNLIKELY(!hn::AllFalse(F32(), hn::IsNaN(hn::Add(even, odd))))) {
      even = canonical(even);
      odd = canonical(odd);
    }
    const VU32 high = hn::And(round_to_upper_half(odd), hn::Set(U32(), 0xffff0000));
    return hn::Or(hn::ShiftRight<16>(round_to_upper_half(even)), high);
  }

  template <class Op, class... In>
  static HWY_INLINE void apply(const Op& op, std::byte* out, const In*... in) {
    const U32 d;
    const VF32 low = op(F32(), even(hn::LoadU(d, as<std::uint32_t>(in)))...);
    const VF32 high = op(F32(), odd(hn::LoadU(d, as<std::uint32_t>(in)))...);
    hn::StoreU(pair_of(low, high), d, as<std::uint32_t>(out));
  }

  template <class Op, class In, class Out>
  static HWY_INLINE void fold(const Op& op, std::size_t parts, const In& in, const Out& out) {
    const U32 d;
    VU32 pair = hn::LoadU(d, as<std::uint32_t>(in(0)));
    VF32 low = even(pair);
    VF32 high = odd(pair);
    for (std::size_t p = 1; p < parts; ++p) {
      pair = hn::LoadU(d, as<std::uint32_t>(in(p)));
      low = op(F32(), low, even(pair));
      high = op(F32(), high, odd(pair));
    }
    out(d, pair_of(op.finish(F32(), low), op.finish(F32(), high)));
  }
};

// A vector of halves has half as many bytes as one of f32, so that it fills one when widened.
using U16 = hn::Rebind<std::uint16_t, F32>;
using VU16 = hn::Vec<U16>;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
// The processor converts f16. It rounds to nearest even and keeps NaNs and subnormals.
HWY_INLINE VF32 from_f16(VU16 bits) {
  return hn::PromoteTo(F32(), hn::BitCast(hn::Rebind<hwy::float16_t, F32>(), bits));
}
HWY_INLINE VU16 to_f16(VF32 v) {
  return hn::BitCast(U16(), hn::DemoteTo(hn::Rebind<hwy::float16_t, F32>(), canonical(v)));
}
#else
// Highway 1.0.3 truncates here and turns infinities into numbers, so this converts as halves.h
// does.
HWY_INLINE VF32 from_f16(VU16 bits16) {
  const F32 df;
  const U32 d;
  const VU32 bits = hn::PromoteTo(d, bits16);
  const VU32 sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(d, 0x8000)));
  const VU32 rest = hn::And(bits, hn::Set(d, 0x7fff));
  const VU32 normal = hn::Add(hn::ShiftLeft<13>(rest), hn::Set(d, std::uint32_t{127 - 15} << 23));
  const VF32 small = hn::Mul(hn::ConvertTo(df, hn::BitCast(hn::RebindToSigned<U32>(), rest)),
                             hn::Set(df, 0x1p-24F));
  // Above infinity there are only NaNs, which stay NaNs when shifted.
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

  template <class Op, class In, class Out>
  static HWY_INLINE void fold(const Op& op, std::size_t parts, const In& in, const Out& out) {
    const U16 d;
    VF32 all = from_f16(hn::LoadU(d, as<std::uint16_t>(in(0))));
    for (std::size_t p = 1; p < parts; ++p) {
      all = op(F32(), all, from_f16(hn::LoadU(d, as<std::uint16_t>(in(p)))));
    }
    out(d, to_f16(op.finish(F32(), all)));
  }
};

// The first `size` bytes of `in`, followed by zeros.
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

// The beginnings of arrays. A number of arrays that is known at compile time (0: it is not) keeps
// them in registers.
template <class Byte, std::size_t kKnown>
struct Arrays {
  HWY_INLINE explicit Arrays(std::span<Byte* const> from) {
    for (std::size_t i = 0; i < kKnown; ++i) begin[i] = from[i];
  }
  HWY_INLINE std::size_t count() const { return kKnown; }
  Byte* begin[kKnown];
};
template <class Byte>
struct Arrays<Byte, 0> {
  HWY_INLINE explicit Arrays(std::span<Byte* const> from) : begin(from) {}
  HWY_INLINE std::size_t count() const { return begin.size(); }
  std::span<Byte* const> begin;
};

template <class In>
struct LoadFrom {
  HWY_INLINE const std::byte* operator()(std::size_t part) const { return in.begin[part] + at; }
  const In& in;
  std::size_t at;
};
template <class Out>
struct StoreTo {
  template <class D, class V>
  HWY_INLINE void operator()(D d, V v) const {
    for (std::size_t i = 0; i < out.count(); ++i) {
      hn::StoreU(v, d, as<hn::TFromD<D>>(out.begin[i] + at));
    }
  }
  const Out& out;
  std::size_t at;
};

// The same for the `bytes` bytes behind the last whole vector, which zeros follow.
template <class In, std::size_t kBytes>
struct LoadRest {
  HWY_INLINE const std::byte* operator()(std::size_t part) const {
    std::memcpy(buffer, in.begin[part] + at, bytes);
    return buffer;
  }
  const In& in;
  std::size_t at = 0;
  std::size_t bytes = 0;
  mutable std::byte buffer[kBytes] = {};
};
template <class Out, std::size_t kBytes>
struct StoreRest {
  template <class D, class V>
  HWY_INLINE void operator()(D d, V v) const {
    std::byte buffer[kBytes];
    hn::StoreU(v, d, as<hn::TFromD<D>>(buffer));
    for (std::size_t i = 0; i < out.count(); ++i) std::memcpy(out.begin[i] + at, buffer, bytes);
  }
  const Out& out;
  std::size_t at;
  std::size_t bytes;
};

// Folds element i of all parts into element i of each out. kOuts and kParts are their numbers, or 0
// where these are not known at compile time.
template <class T, std::size_t kOuts, std::size_t kParts, class Op>
HWY_INLINE void fold(const Op& op,
                     std::span<std::byte* const> outs,
                     std::span<const std::byte* const> parts,
                     std::size_t count) {
  using L = Lanes<T>;
  using In = Arrays<const std::byte, kParts>;
  using Out = Arrays<std::byte, kOuts>;
  const In in(parts);
  const Out out(outs);
  const std::size_t total = count * L::kElementBytes;
  const std::size_t step = L::bytes();
  std::size_t done = 0;
  for (; done + step <= total; done += step) {
    L::fold(op, in.count(), LoadFrom<In>{in, done}, StoreTo<Out>{out, done});
  }
  if (done == total) return;
  L::fold(op, in.count(), LoadRest<In, L::kMaxBytes>{in, done, total - done},
          StoreRest<Out, L::kMaxBytes>{out, done, total - done});
}

}  // namespace bp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // BP_COMM_REDUCE_LANES_INL_H_
