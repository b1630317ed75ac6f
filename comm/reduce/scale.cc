#include <cmath>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "comm/reduce/reduce.h"
#include "comm/reduce/reduce_kernel.h"
#include "comm/reduce/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "comm/reduce/scale.cc"
#include <hwy/foreach_target.h>  // includes this file once for each instruction set

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

// Returns false, and does nothing, where the lanes are integers.
template <class Op>
HWY_INLINE bool map_floats(Lane lane, const Op& op, std::byte* data, std::size_t count) {
  const std::byte* in = data;
  switch (lane) {
    case Lane::f16:
      map<Float16>(op, data, count, in);
      return true;
    case Lane::bf16:
      map<BFloat16>(op, data, count, in);
      return true;
    case Lane::f32:
      map<float>(op, data, count, in);
      return true;
    case Lane::f64:
      map<double>(op, data, count, in);
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

bool divide_floats(Lane lane, std::byte* data, std::size_t count, double divisor) {
  return map_floats(lane, DivideBy{divisor}, data, count);
}

bool multiply_floats(Lane lane, std::byte* data, std::size_t count, double factor) {
  return map_floats(lane, MultiplyBy{factor}, data, count);
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
void map_integers(Lane lane, std::byte* data, std::size_t count, const Op& op) {
  switch (lane) {
    case Lane::u8:
      return map_integers<std::uint8_t>(data, count, op);
    case Lane::i8:
      return map_integers<std::int8_t>(data, count, op);
    case Lane::u16:
      return map_integers<std::uint16_t>(data, count, op);
    case Lane::i32:
      return map_integers<std::int32_t>(data, count, op);
    case Lane::i64:
      return map_integers<std::int64_t>(data, count, op);
    case Lane::f16:
    case Lane::bf16:
    case Lane::f32:
    case Lane::f64:
      return;
  }
}

template <class T>
T truncated(double value) {
  using Limits = std::numeric_limits<T>;
  // -lowest and highest + 1 are powers of two, so f64 holds them exactly for every T.
  const double end = std::ldexp(1.0, Limits::digits);
  if (std::isnan(value)) return 0;
  if (value >= end) return Limits::max();
  if (value <= static_cast<double>(Limits::lowest())) return Limits::lowest();
  return static_cast<T>(value);
}

}  // namespace

void finish_average(DataType type, std::byte* data, std::size_t count, int ranks) {
  BP_CHECK(ranks >= 1, "an average is over at least one rank");
  BP_CHECK(can_reduce(ReduceOp::average, type), "an average that is not defined for its type");
  const Kernel kernel = kernel_of(ReduceOp::average, type);
  const std::size_t lanes = count * kernel.lanes;
  if (ranks == 1 || HWY_DYNAMIC_DISPATCH(divide_floats)(kernel.lane, data, lanes, ranks)) return;
  map_integers(kernel.lane, data, lanes, [ranks](auto value) {
    return static_cast<decltype(value)>(std::int64_t{value} / ranks);
  });
}

void scale(DataType type, std::byte* data, std::size_t count, double factor) {
  const Kernel kernel = kernel_of(type);
  const std::size_t lanes = count * kernel.lanes;
  if (HWY_DYNAMIC_DISPATCH(multiply_floats)(kernel.lane, data, lanes, factor)) return;
  map_integers(kernel.lane, data, lanes, [factor](auto value) {
    return truncated<decltype(value)>(static_cast<double>(value) * factor);
  });
}

}  // namespace bp
#endif
