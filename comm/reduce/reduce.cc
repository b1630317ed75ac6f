#include "comm/reduce/reduce.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "comm/reduce/reduce.cc"
#include <hwy/foreach_target.h>  // includes this file once for each kind of machine

#include "comm/reduce/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bp::HWY_NAMESPACE {

struct Sum {
  template <class D, class V>
  HWY_INLINE V operator()(D /*d*/, V a, V b) const {
    return hn::Add(a, b);
  }
};

struct Product {
  template <class D, class V>
  HWY_INLINE V operator()(D /*d*/, V a, V b) const {
    if constexpr (sizeof(hn::TFromD<D>) == 1) {
      return multiply_bytes(a, b);
    } else {
      return hn::Mul(a, b);
    }
  }

 private:
  // Highway multiplies nothing narrower than 16 bits; modulo 2^8 signed and unsigned are the same.
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

// Equal floats have equal bits, except for zeros: there the signs decide.
struct Min {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    V result = hn::Min(a, b);
    if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
      result = hn::IfThenElse(hn::Eq(a, b), hn::Or(a, b), result);
    }
    return canonical_nan_if_any(d, a, b, result);
  }
};

struct Max {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    V result = hn::Max(a, b);
    if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
      result = hn::IfThenElse(hn::Eq(a, b), hn::And(a, b), result);
    }
    return canonical_nan_if_any(d, a, b, result);
  }
};

template <class Op>
void reduce_type(
    DataType type, std::byte* out, const std::byte* a, const std::byte* b, std::size_t count) {
  switch (type) {
    case DataType::u8:
      return map<std::uint8_t>(Op(), out, count, a, b);
    case DataType::i8:
      return map<std::int8_t>(Op(), out, count, a, b);
    case DataType::i32:
      return map<std::int32_t>(Op(), out, count, a, b);
    case DataType::i64:
      return map<std::int64_t>(Op(), out, count, a, b);
    case DataType::f16:
      return map<Float16>(Op(), out, count, a, b);
    case DataType::bf16:
      return map<BFloat16>(Op(), out, count, a, b);
    case DataType::f32:
      return map<float>(Op(), out, count, a, b);
    case DataType::f64:
      return map<double>(Op(), out, count, a, b);
  }
}

void reduce_any(DataType type,
                ReduceOp op,
                std::byte* out,
                const std::byte* a,
                const std::byte* b,
                std::size_t count) {
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::average:
      return reduce_type<Sum>(type, out, a, b, count);
    case ReduceOp::min:
      return reduce_type<Min>(type, out, a, b, count);
    case ReduceOp::max:
      return reduce_type<Max>(type, out, a, b, count);
    case ReduceOp::product:
      return reduce_type<Product>(type, out, a, b, count);
  }
}

}  // namespace bp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bp {

HWY_EXPORT(reduce_any);

void reduce_to(DataType type,
               ReduceOp op,
               std::byte* out,
               const std::byte* a,
               const std::byte* b,
               std::size_t count) {
  HWY_DYNAMIC_DISPATCH(reduce_any)(type, op, out, a, b, count);
}

}  // namespace bp
#endif
