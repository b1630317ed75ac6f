#include <cmath>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "comm/reduce/reduce.h"
#include "comm/reduce/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "comm/reduce/scale.cc"
#include <hwy/foreach_target.h>  // includes this file once for each kind of machine

#include "comm/reduce/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bp::HWY_NAMESPACE {

struct DivideBy {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V v) const {
    return hn::Div(v, hn::Set(d, static_cast<hn::TFromD<D>>(divisor)));
  }
  double divisor;
};

struct MultiplyBy {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V v) const {
    return hn::Mul(v, hn::Set(d, static_cast<hn::TFromD<D>>(factor)));
  }
  double factor;
};

// False where the type is an integer; nothing is done then.
template <class Op>
HWY_INLINE bool map_floats(DataType type, const Op& op, std::byte* data, std::size_t count) {
  const std::byte* in = data;
  switch (type) {
    case DataType::f16:
      map<Float16>(op, data, count, in);
      return true;
    case DataType::bf16:
      map<BFloat16>(op, data, count, in);
      return true;
    case DataType::f32:
      map<float>(op, data, count, in);
      return true;
    case DataType::f64:
      map<double>(op, data, count, in);
      return true;
    default:
      return false;
  }
}

bool divide_floats(DataType type, std::byte* data, std::size_t count, double divisor) {
  return map_floats(type, DivideBy{divisor}, data, count);
}

bool multiply_floats(DataType type, std::byte* data, std::size_t count, double factor) {
  return map_floats(type, MultiplyBy{factor}, data, count);
}

}  // namespace bp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bp {

HWY_EXPORT(divide_floats);
HWY_EXPORT(multiply_floats);

namespace {

template <class T, class Op>
void map_integers(std::byte* data, std::size_t count, const Op& op) {
  for (std::size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, data + i * sizeof(T), sizeof(T));
    value = op(value);
    std::memcpy(data + i * sizeof(T), &value, sizeof(T));
  }
}

template <class Op>
void map_integers(DataType type, std::byte* data, std::size_t count, const Op& op) {
  switch (type) {
    case DataType::u8:
      return map_integers<std::uint8_t>(data, count, op);
    case DataType::i8:
      return map_integers<std::int8_t>(data, count, op);
    case DataType::i32:
      return map_integers<std::int32_t>(data, count, op);
    case DataType::i64:
      return map_integers<std::int64_t>(data, count, op);
    default:
      return;
  }
}

template <class T>
T truncated(double value) {
  using Limits = std::numeric_limits<T>;
  // -lowest and highest + 1 are powers of two, hence exact in f64 for every T.
  const double end = std::ldexp(1.0, Limits::digits);
  if (std::isnan(value)) return 0;
  if (value >= end) return Limits::max();
  if (value <= static_cast<double>(Limits::lowest())) return Limits::lowest();
  return static_cast<T>(value);
}

}  // namespace

void finish_average(DataType type, std::byte* data, std::size_t count, int ranks) {
  BP_CHECK(ranks >= 1, "an average is over at least one rank");
  if (ranks == 1 || HWY_DYNAMIC_DISPATCH(divide_floats)(type, data, count, ranks)) return;
  map_integers(type, data, count, [ranks](auto value) {
    return static_cast<decltype(value)>(std::int64_t{value} / ranks);
  });
}

void scale(DataType type, std::byte* data, std::size_t count, double factor) {
  if (HWY_DYNAMIC_DISPATCH(multiply_floats)(type, data, count, factor)) return;
  map_integers(type, data, count, [factor](auto value) {
    return truncated<decltype(value)>(static_cast<double>(value) * factor);
  });
}

}  // namespace bp
#endif
