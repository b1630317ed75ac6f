// The element types and reductions of all collectives, and the untyped views that pass memory to
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <string_view>

#include "bp/export.h"

namespace BP_API bp {

// Halves are held as their bits. The library computes with them in fp32.
enum class Float16 : std::uint16_t {};   // IEEE 754 binary16
enum class BFloat16 : std::uint16_t {};  // the upper half of an IEEE 754 binary32

// The numbers are part of the wire format: append, never renumber.
enum class DataType : std::uint8_t { u8, i8, i32, i64, f16, bf16, f32, f64 };

// `average` is the sum divided by the number of ranks, truncated towards zero for integers. Integer
// sums and products wrap modulo 2^bits.
enum class ReduceOp : std::uint8_t { sum, average, min, max, product };

[[nodiscard]] constexpr std::size_t size_of(DataType type) {
  switch (type) {
    case DataType::u8:
    case DataType::i8:
      return 1;
    case DataType::f16:
    case DataType::bf16:
      return 2;
    case DataType::i32:
    case DataType::f32:
      return 4;
    case DataType::i64:
    case DataType::f64:
      return 8;
  }
  return 0;
}

[[nodiscard]] std::string_view name_of(DataType type);  // "f32"
[[nodiscard]] std::string_view name_of(ReduceOp op);    // "sum"

template <class T>
inline constexpr DataType kDataTypeOf = [] {
  static_assert(sizeof(T) == 0, "bp has no collective for this element type");
  return DataType::u8;
}();
template <>
inline constexpr DataType kDataTypeOf<std::uint8_t> = DataType::u8;
template <>
inline constexpr DataType kDataTypeOf<std::int8_t> = DataType::i8;
template <>
inline constexpr DataType kDataTypeOf<std::int32_t> = DataType::i32;
template <>
inline constexpr DataType kDataTypeOf<std::int64_t> = DataType::i64;
template <>
inline constexpr DataType kDataTypeOf<Float16> = DataType::f16;
template <>
inline constexpr DataType kDataTypeOf<BFloat16> = DataType::bf16;
template <>
inline constexpr DataType kDataTypeOf<float> = DataType::f32;
template <>
inline constexpr DataType kDataTypeOf<double> = DataType::f64;

// Memory that a collective reads and writes: `count` elements of `type`. A view owns nothing. The
// memory must live until the collective has returned or its Work is done.
struct View {
  std::byte* data = nullptr;
  std::size_t count = 0;
  DataType type = DataType::u8;
  [[nodiscard]] std::size_t bytes() const { return count * size_of(type); }
};

// Memory that a collective only reads.
struct ConstView {
  const std::byte* data = nullptr;
  std::size_t count = 0;
  DataType type = DataType::u8;
  ConstView() = default;
  ConstView(const std::byte* d, std::size_t n, DataType t) : data(d), count(n), type(t) {}
  // NOLINTNEXTLINE(google-explicit-constructor): what may be written may be read.
  ConstView(const View& view) : data(view.data), count(view.count), type(view.type) {}
  [[nodiscard]] std::size_t bytes() const { return count * size_of(type); }
};

// Returns a view of a contiguous container or span of one of the element types. A temporary
// container does not compile.
template <std::ranges::borrowed_range Range>
[[nodiscard]] View view(Range&& range) {
  std::span elements(range);
  using T = typename decltype(elements)::value_type;
  return {reinterpret_cast<std::byte*>(elements.data()), elements.size(), kDataTypeOf<T>};
}
template <class Range>
[[nodiscard]] ConstView const_view(const Range& range) {
  std::span elements(range);
  using T = typename decltype(elements)::value_type;
  return {reinterpret_cast<const std::byte*>(elements.data()), elements.size(), kDataTypeOf<T>};
}

}  // namespace bp
