#include "comm/reduce/reduce.h"

#include "base/check.h"
#include "comm/reduce/reduce_kernel.h"
#include "comm/reduce/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "comm/reduce/reduce.cc"
#include <hwy/foreach_target.h>  // includes this file once for each instruction set

#include "comm/reduce/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bp::HWY_NAMESPACE {

// Most operations have nothing left to do to the reduction of all parts.
struct Unfinished {
  template <class D, class V>
  HWY_INLINE V finish(D /*d*/, V v) const {
    return v;
  }
};

struct Sum : Unfinished {
  template <class D, class V>
  HWY_INLINE V operator()(D /*d*/, V a, V b) const {
    return hn::Add(a, b);
  }
};

struct Average : Sum {
  template <class D, class V>
  HWY_INLINE V finish(D d, V v) const {
    return hn::Div(v, hn::Set(d, static_cast<hn::TFromD<D>>(divisor)));
  }
  double divisor = 1;
};

struct Product : Unfinished {
  template <class D, class V>
  HWY_INLINE V operator()(D /*d*/, V a, V b) const {
    if constexpr (sizeof(hn::TFromD<D>) == 1) {
      return multiply_bytes(a, b);
    } else {
      return hn::Mul(a, b);
    }
  }

 private:
  // Highway does not multiply lanes of 8 bits. Modulo 2^8 signed and unsigned products are the
  // same.
  template <class V>
  static HWY_INLINE V multiply_bytes(V a, V b) {
#if HWY_TARGET == HWY_SCALAR
    using T = hn::TFromV<V>;
    return hn::Set(hn::DFromV<V>(), static_cast<T>(hn::GetLane(a) * hn::GetLane(b)));
#else
    const hn::ScalableTag<std::uint16_t> d;
    const auto a16 = hn::BitCast(d, a);
    const auto b16 = hn::BitCast(d, b);
    const auto even = hn::And(hn::Mul(a16, b16), hn::Set(d, 0x00ff));
    const auto odd = hn::Mul(hn::ShiftRight<8>(a16), hn::ShiftRight<8>(b16));
    return hn::BitCast(hn::DFromV<V>(), hn::Or(even, hn::ShiftLeft<8>(odd)));
#endif
  }
};

template <class D, class V>
HWY_INLINE V canonical_nan_if_any(D d, V a, V b, V result) {
  if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
    constexpr bool kWide = sizeof(hn::TFromD<D>) == 8;
    using Bits = hwy::MakeUnsigned<hn::TFromD<D>>;
    const auto bits = static_cast<Bits>(kWide ? 0x7ff8000000000000U : 0x7fc00000U);
    const V nan = hn::BitCast(d, hn::Set(hn::RebindToUnsigned<D>(), bits));
    return hn::IfThenElse(hn::Or(hn::IsNaN(a), hn::IsNaN(b)), nan, result);
  } else {
    return result;
  }
}

// Equal floats have equal bits, except for zeros, whose signs decide.
struct Min : Unfinished {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    V result = hn::Min(a, b);
    if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
      result = hn::IfThenElse(hn::Eq(a, b), hn::Or(a, b), result);
    }
    return canonical_nan_if_any(d, a, b, result);
  }
};

struct Max : Unfinished {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    V result = hn::Max(a, b);
    if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
      result = hn::IfThenElse(hn::Eq(a, b), hn::And(a, b), result);
    }
    return canonical_nan_if_any(d, a, b, result);
  }
};

struct BitAnd : Unfinished {
  template <class D, class V>
  HWY_INLINE V operator()(D /*d*/, V a, V b) const {
    return hn::And(a, b);
  }
};

struct BitOr : Unfinished {
  template <class D, class V>
  HWY_INLINE V operator()(D /*d*/, V a, V b) const {
    return hn::Or(a, b);
  }
};

struct BitXor : Unfinished {
  template <class D, class V>
  HWY_INLINE V operator()(D /*d*/, V a, V b) const {
    return hn::Xor(a, b);
  }
};

template <class T, class Op>
void reduce_elements(const Op& op,
                     std::span<std::byte* const> outs,
                     std::span<const std::byte* const> parts,
                     std::size_t count) {
  // Rings and pairs of ranks reduce two parts: a copy of the loop for them keeps the addresses in
  // registers.
  if (parts.size() == 2 && outs.size() == 1) return fold<T, 1, 2>(op, outs, parts, count);
  if (parts.size() == 2 && outs.size() == 2) return fold<T, 2, 2>(op, outs, parts, count);
  fold<T, 0, 0>(op, outs, parts, count);
}

template <class Op>
bool reduce_floats(const Op& op,
                   Lane lane,
                   std::span<std::byte* const> outs,
                   std::span<const std::byte* const> parts,
                   std::size_t count) {
  switch (lane) {
    case Lane::f16:
      reduce_elements<Float16>(op, outs, parts, count);
      return true;
    case Lane::bf16:
      reduce_elements<BFloat16>(op, outs, parts, count);
      return true;
    case Lane::f32:
      reduce_elements<float>(op, outs, parts, count);
      return true;
    case Lane::f64:
      reduce_elements<double>(op, outs, parts, count);
      return true;
    case Lane::u8:
    case Lane::i8:
    case Lane::u16:
    case Lane::i32:
    case Lane::i64:
      return false;
  }
  return false;
}

template <class Op>
void reduce_any(const Op& op,
                Lane lane,
                std::span<std::byte* const> outs,
                std::span<const std::byte* const> parts,
                std::size_t count) {
  switch (lane) {
    case Lane::u8:
      return reduce_elements<std::uint8_t>(op, outs, parts, count);
    case Lane::i8:
      return reduce_elements<std::int8_t>(op, outs, parts, count);
    case Lane::u16:
      return reduce_elements<std::uint16_t>(op, outs, parts, count);
    case Lane::i32:
      return reduce_elements<std::int32_t>(op, outs, parts, count);
    case Lane::i64:
      return reduce_elements<std::int64_t>(op, outs, parts, count);
    case Lane::f16:
    case Lane::bf16:
    case Lane::f32:
    case Lane::f64:
      (void)reduce_floats(op, lane, outs, parts, count);
  }
}

void reduce_lanes(ReduceOp op,
                  Lane lane,
                  std::span<std::byte* const> outs,
                  std::span<const std::byte* const> parts,
                  std::size_t count) {
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::average:
      return reduce_any(Sum(), lane, outs, parts, count);
    case ReduceOp::min:
      return reduce_any(Min(), lane, outs, parts, count);
    case ReduceOp::max:
      return reduce_any(Max(), lane, outs, parts, count);
    case ReduceOp::product:
      return reduce_any(Product(), lane, outs, parts, count);
    case ReduceOp::bit_and:
      return reduce_elements<std::uint8_t>(BitAnd(), outs, parts, count);
    case ReduceOp::bit_or:
      return reduce_elements<std::uint8_t>(BitOr(), outs, parts, count);
    case ReduceOp::bit_xor:
      return reduce_elements<std::uint8_t>(BitXor(), outs, parts, count);
  }
}

// Returns false, and does nothing, where the lanes are integers.
bool average_floats(Lane lane,
                    std::span<std::byte* const> outs,
                    std::span<const std::byte* const> parts,
                    std::size_t count) {
  Average op;
  op.divisor = static_cast<double>(parts.size());
  return reduce_floats(op, lane, outs, parts, count);
}

}  // namespace bp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bp {

HWY_EXPORT(reduce_lanes);
HWY_EXPORT(average_floats);

void reduce_parts(DataType type,
                  ReduceOp op,
                  std::span<std::byte* const> outs,
                  std::span<const std::byte* const> parts,
                  std::size_t count) {
  BP_CHECK(can_reduce(op, type), "a reduction that is not defined for its type");
  const Kernel kernel = kernel_of(op, type);
  HWY_DYNAMIC_DISPATCH(reduce_lanes)(op, kernel.lane, outs, parts, count * kernel.lanes);
}

void average_parts(DataType type,
                   std::span<std::byte* const> outs,
                   std::span<const std::byte* const> parts,
                   std::size_t count) {
  const Kernel kernel = kernel_of(ReduceOp::average, type);
  if (HWY_DYNAMIC_DISPATCH(average_floats)(kernel.lane, outs, parts, count * kernel.lanes)) return;
  reduce_parts(type, ReduceOp::sum, outs, parts, count);
  for (std::byte* const out : outs) {
    finish_average(type, out, count, static_cast<int>(parts.size()));
  }
}

}  // namespace bp
#endif
