#include "tests/support/fake_nccl/reduce.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>

namespace fake_nccl {
namespace {

__extension__ using Half = _Float16;
struct Brain {  // the upper half of a float
  std::uint16_t bits = 0;
};

template <class T>
struct Computed {  // what elements are computed in
  using Type = T;
  static T widen(T value) { return value; }
  static T narrow(T value) { return value; }
};
template <>
struct Computed<Half> {
  using Type = float;
  static float widen(Half value) { return static_cast<float>(value); }
  static Half narrow(float value) { return static_cast<Half>(value); }
};
template <>
struct Computed<Brain> {
  using Type = float;
  static float widen(Brain value) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16U);
  }
  static Brain narrow(float value) {  // to the nearest, and of two to the even one
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return {static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U)};
  }
};

// Integers wrap, as they do in NCCL; sums and products of signed ones must not overflow here.
template <class T>
auto wrapping(T value) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<std::uint64_t>(value);
  } else {
    return value;
  }
}

template <class T>
T combined(T a, T b, int reduction) {
  switch (reduction) {
    case product:
      return static_cast<T>(wrapping(a) * wrapping(b));
    case largest:
      return std::max(a, b);
    case smallest:
      return std::min(a, b);
    default:
      return static_cast<T>(wrapping(a) + wrapping(b));
  }
}

template <class T>
void combine_as(
    int reduction, int ranks, const std::byte* const* from, std::byte* to, std::size_t count) {
  using Wide = typename Computed<T>::Type;
  const auto element = [&](int rank, std::size_t i) {
    T value;
    std::memcpy(&value, from[rank] + i * sizeof(T), sizeof(T));
    Wide wide = Computed<T>::widen(value);
    if constexpr (std::is_floating_point_v<Wide>) {
      if (reduction == average) wide *= Wide{1} / static_cast<Wide>(ranks);
    }
    return wide;
  };
  for (std::size_t i = 0; i < count; ++i) {
    Wide all = element(0, i);
    for (int rank = 1; rank < ranks; ++rank) all = combined(all, element(rank, i), reduction);
    const T result = Computed<T>::narrow(all);
    std::memcpy(to + i * sizeof(T), &result, sizeof(T));
  }
}

template <class T>
void multiply_as(const Scalar& scalar, std::byte* data, std::size_t count) {
  using As = Computed<T>;
  T factor;
  std::memcpy(&factor, scalar.bytes.data(), sizeof(T));
  for (std::size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, data + i * sizeof(T), sizeof(T));
    value = As::narrow(As::widen(value) * As::widen(factor));
    std::memcpy(data + i * sizeof(T), &value, sizeof(T));
  }
}

}  // namespace

void multiply(const Scalar& scalar, std::byte* data, std::size_t count) {
  switch (scalar.type) {
    case 6:
      return multiply_as<Half>(scalar, data, count);
    case 7:
      return multiply_as<float>(scalar, data, count);
    case 8:
      return multiply_as<double>(scalar, data, count);
    case 9:
      return multiply_as<Brain>(scalar, data, count);
    default:
      std::fprintf(stderr, "fake NCCL: no scaled sum of type %d\n", scalar.type);
      std::abort();
  }
}

std::size_t size_of(int type) {
  constexpr std::size_t kSizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return kSizes[type];
}

void combine(int type,
             int reduction,
             int ranks,
             const std::byte* const* from,
             std::byte* to,
             std::size_t count) {
  switch (type) {
    case 0:
      return combine_as<std::int8_t>(reduction, ranks, from, to, count);
    case 1:
      return combine_as<std::uint8_t>(reduction, ranks, from, to, count);
    case 2:
      return combine_as<std::int32_t>(reduction, ranks, from, to, count);
    case 4:
      return combine_as<std::int64_t>(reduction, ranks, from, to, count);
    case 6:
      return combine_as<Half>(reduction, ranks, from, to, count);
    case 7:
      return combine_as<float>(reduction, ranks, from, to, count);
    case 8:
      return combine_as<double>(reduction, ranks, from, to, count);
    case 9:
      return combine_as<Brain>(reduction, ranks, from, to, count);
    default:
      std::fprintf(stderr, "fake NCCL: there is no type %d\n", type);
      std::abort();
  }
}

}  // namespace fake_nccl
