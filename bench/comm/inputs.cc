#include "bench/comm/inputs.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "comm/reduce/halves.h"

namespace bp::bench {
namespace {

// Which whole numbers are exact in a type. Integers wrap, which stays exact.
struct Range {
  int sum_bits = 8;    // sums of all ranks' inputs stay below 2^sum_bits
  int exact_bits = 0;  // all numbers below 2^exact_bits are exact; 0: all numbers are
  int bits = 0;        // numbers of sum_bits times a power of two are exact below 2^bits
};

Range range_of(DataType type) {
  switch (type) {
    case DataType::u8:
    case DataType::i8:
      return {};
    case DataType::u16:
      return {.sum_bits = 16};
    case DataType::boolean:
      return {.sum_bits = 1};
    case DataType::c64:  // f32 whose imaginary part is three times the real one
      return {.sum_bits = 12, .exact_bits = 22, .bits = 125};
    case DataType::i32:
      return {.sum_bits = 24};
    case DataType::i64:
      return {.sum_bits = 50};
    case DataType::f16:
      return {.sum_bits = 6, .exact_bits = 11, .bits = 15};
    case DataType::bf16:
      return {.sum_bits = 4, .exact_bits = 8, .bits = 127};
    case DataType::f32:
      return {.sum_bits = 12, .exact_bits = 24, .bits = 127};
    case DataType::f64:
      return {.sum_bits = 40, .exact_bits = 53, .bits = 1023};
  }
  return {};
}

// Returns the bound below which a rank's inputs lie.
std::uint64_t share_of(DataType type, int ranks) {
  return std::max<std::uint64_t>(
      (std::uint64_t{1} << range_of(type).sum_bits) / static_cast<unsigned>(ranks), 2);
}

std::uint64_t element(DataType type, int r, int ranks, std::size_t j) {
  std::uint64_t x =
      (j % kPeriod + 1) * 0x9e3779b97f4a7c15U + static_cast<unsigned>(r) * 0xd1b54a32d192ed03U;
  x = (x ^ (x >> 31)) * 0xbf58476d1ce4e5b9U;
  return (x >> 13) % share_of(type, ranks);
}

// Returns `value` times ranks^more.
template <class T>
T grown(std::uint64_t value, int ranks, int more) {
  if constexpr (std::is_same_v<T, bool>) {
    return value != 0;  // of a sum this is the largest of its parts
  } else if constexpr (std::is_integral_v<T>) {
    for (int i = 0; i < more; ++i) value *= static_cast<unsigned>(ranks);  // modulo 2^64, so 2^bits
    return static_cast<T>(value);
  } else {
    const double exact = static_cast<double>(value) * std::pow(ranks, more);
    if constexpr (std::is_same_v<T, Float16>) {
      return to_float16(static_cast<float>(exact));
    } else if constexpr (std::is_same_v<T, BFloat16>) {
      return to_bfloat16(static_cast<float>(exact));
    } else if constexpr (std::is_same_v<T, std::complex<float>>) {
      return {static_cast<float>(exact), static_cast<float>(3 * exact)};
    } else {
      return static_cast<T>(exact);
    }
  }
}

// Returns the bytes of make(T, j) for the type's T and j = first..first+count.
template <class T, class Make>
std::vector<std::byte> fill(std::size_t first, std::size_t count, const Make& make) {
  std::vector<std::byte> bytes(count * sizeof(T));
  for (std::size_t i = 0; i < count; ++i) {
    const T value = make(T{}, first + i);
    std::memcpy(&bytes[i * sizeof(T)], &value, sizeof(T));
  }
  return bytes;
}

template <class Make>
std::vector<std::byte> fill(DataType type, std::size_t first, std::size_t count, const Make& make) {
  switch (type) {
#define BP_ROW(name, text, number, Element, type_class) \
  case DataType::name:                                  \
    return fill<Element>(first, count, make);
    BP_DATA_TYPES(BP_ROW)
#undef BP_ROW
  }
  return {};
}

}  // namespace

std::vector<std::byte> input_of(
    DataType type, int r, int ranks, std::size_t first, std::size_t count) {
  return fill(type, first, count, [=]<class T>(T, std::size_t j) {
    return grown<T>(element(type, r, ranks, j), ranks, 0);
  });
}

std::vector<std::byte> reduced_inputs(
    DataType type, int ranks, std::size_t first, std::size_t count, int more) {
  return fill(type, first, count, [=]<class T>(T, std::size_t j) {
    std::uint64_t sum = 0;
    for (int r = 0; r < ranks; ++r) sum += element(type, r, ranks, j);
    return grown<T>(sum, ranks, more);
  });
}

int most_repetitions(DataType type, int ranks) {
  const Range range = range_of(type);
  if (range.exact_bits == 0 || ranks == 1) return std::numeric_limits<int>::max();
  const auto count = static_cast<unsigned>(ranks);
  const auto used = static_cast<int>(std::bit_width(count * (share_of(type, ranks) - 1)));
  // A power of two only adds to the exponent.
  const int room = (std::has_single_bit(count) ? range.bits : range.exact_bits) - used;
  return std::max(0, static_cast<int>(room / std::log2(ranks)));
}

void Pattern::write(std::byte* to) const {
  for (std::size_t at = 0; at < bytes; at += period.size()) {
    std::memcpy(to + at, period.data(), std::min(period.size(), bytes - at));
  }
}

std::size_t Pattern::wrong_elements(const std::byte* found, DataType type) const {
  std::size_t wrong = 0;
  const std::size_t step = size_of(type);
  for (std::size_t at = 0; at < bytes; at += period.size()) {
    const std::size_t length = std::min(period.size(), bytes - at);
    if (std::memcmp(found + at, period.data(), length) == 0) continue;
    for (std::size_t i = 0; i < length; i += step) {
      wrong += std::memcmp(found + at + i, &period[i], step) != 0 ? 1 : 0;
    }
  }
  return wrong;
}

}  // namespace bp::bench
