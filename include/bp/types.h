// The element types and reductions of all collectives, and the untyped views that pass memory to
// them.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <string_view>

#include "bp/device.h"
#include "bp/export.h"

namespace BP_API bp {

// Halves are held as their bits. The library computes with them in fp32.
enum class Float16 : std::uint16_t {};   // IEEE 754 binary16
enum class BFloat16 : std::uint16_t {};  // the upper half of an IEEE 754 binary32

// What the elements of a type are. It decides which reductions the type has.
enum class TypeClass : std::uint8_t { integer, boolean, real, complex };

// The table of element types, one row each:
//   enumerator of DataType, name in texts, number, C++ type of one element, class.
// Messages between ranks carry the number, so a new type is appended and no number ever changes.
#define BP_DATA_TYPES(BP_ROW)                   \
  BP_ROW(u8, "u8", 0, std::uint8_t, integer)    \
  BP_ROW(i8, "i8", 1, std::int8_t, integer)     \
  BP_ROW(i32, "i32", 2, std::int32_t, integer)  \
  BP_ROW(i64, "i64", 3, std::int64_t, integer)  \
  BP_ROW(f16, "f16", 4, Float16, real)          \
  BP_ROW(bf16, "bf16", 5, BFloat16, real)       \
  BP_ROW(f32, "f32", 6, float, real)            \
  BP_ROW(f64, "f64", 7, double, real)           \
  BP_ROW(u16, "u16", 8, std::uint16_t, integer) \
  BP_ROW(boolean, "bool", 9, bool, boolean)     \
  BP_ROW(c64, "c64", 10, std::complex<float>, complex)

// The table of reductions: enumerator of ReduceOp, number, and whether it is defined for the types
// of each class, in the order of TypeClass. A new reduction is appended.
#define BP_REDUCE_OPS(BP_ROW)                               \
  /*       name, number, integer, boolean, real, complex */ \
  BP_ROW(sum, 0, true, false, true, true)                   \
  BP_ROW(average, 1, true, false, true, true)               \
  BP_ROW(min, 2, true, true, true, false)                   \
  BP_ROW(max, 3, true, true, true, false)                   \
  BP_ROW(product, 4, true, false, true, false)              \
  BP_ROW(bit_and, 5, true, true, false, false)              \
  BP_ROW(bit_or, 6, true, true, false, false)               \
  BP_ROW(bit_xor, 7, true, true, false, false)

enum class DataType : std::uint8_t {
#define BP_ROW(name, text, number, Element, type_class) name = (number),
  BP_DATA_TYPES(BP_ROW)
#undef BP_ROW
};

// `average` is the sum divided by the number of ranks, truncated towards zero for integers. Integer
// sums and products wrap modulo 2^bits. bit_and, bit_or and bit_xor combine each bit by itself. Of
// bool, min and bit_and are true where all ranks have true, max and bit_or where any rank has, and
// bit_xor where an odd number of ranks has.
enum class ReduceOp : std::uint8_t {
#define BP_ROW(name, number, ...) name = (number),
  BP_REDUCE_OPS(BP_ROW)
#undef BP_ROW
};

inline constexpr std::array kDataTypes = {
#define BP_ROW(name, ...) DataType::name,
    BP_DATA_TYPES(BP_ROW)
#undef BP_ROW
};

inline constexpr std::array kReduceOps = {
#define BP_ROW(name, ...) ReduceOp::name,
    BP_REDUCE_OPS(BP_ROW)
#undef BP_ROW
};

// Returns the bytes of one element, or 0 for a number that is not a type.
[[nodiscard]] constexpr std::size_t size_of(DataType type) {
  switch (type) {
#define BP_ROW(name, text, number, Element, type_class) \
  case DataType::name:                                  \
    return sizeof(Element);
    BP_DATA_TYPES(BP_ROW)
#undef BP_ROW
  }
  return 0;
}

[[nodiscard]] constexpr TypeClass class_of(DataType type) {
  switch (type) {
#define BP_ROW(name, text, number, Element, type_class) \
  case DataType::name:                                  \
    return TypeClass::type_class;
    BP_DATA_TYPES(BP_ROW)  // NOLINT(bugprone-branch-clone): rows may have one class
#undef BP_ROW
  }
  return TypeClass::integer;
}

// Returns whether `op` is defined for elements of `type`. A collective refuses every other pair.
[[nodiscard]] constexpr bool can_reduce(ReduceOp op, DataType type) {
  const TypeClass elements = class_of(type);
  switch (op) {
#define BP_ROW(name, number, integers, booleans, reals, complexes) \
  case ReduceOp::name:                                             \
    switch (elements) {                                            \
      case TypeClass::integer:                                     \
        return integers;                                           \
      case TypeClass::boolean:                                     \
        return booleans;                                           \
      case TypeClass::real:                                        \
        return reals;                                              \
      case TypeClass::complex:                                     \
        return complexes;                                          \
    }                                                              \
    break;
    BP_REDUCE_OPS(BP_ROW)  // NOLINT(bugprone-branch-clone): rows may have equal columns
#undef BP_ROW
  }
  return false;
}

[[nodiscard]] std::string_view name_of(DataType type);  // "f32"
[[nodiscard]] std::string_view name_of(ReduceOp op);    // "sum"

template <class T>
inline constexpr DataType kDataTypeOf = [] {
  static_assert(sizeof(T) == 0, "bp has no collective for this element type");
  return DataType::u8;
}();
#define BP_ROW(name, text, number, Element, type_class) \
  template <>                                           \
  inline constexpr DataType kDataTypeOf<Element> = DataType::name;
BP_DATA_TYPES(BP_ROW)
#undef BP_ROW

// Memory that a collective reads and writes: `count` elements of `type` on `device`. A view owns
// nothing. The memory must live until the collective has returned or its Work is done.
struct View {
  std::byte* data = nullptr;
  std::size_t count = 0;
  DataType type = DataType::u8;
  Device device = {};
  [[nodiscard]] std::size_t bytes() const { return count * size_of(type); }
};

// Memory that a collective only reads.
struct ConstView {
  const std::byte* data = nullptr;
  std::size_t count = 0;
  DataType type = DataType::u8;
  Device device = {};
  ConstView() = default;
  ConstView(const std::byte* d, std::size_t n, DataType t, Device where = {})
      : data(d), count(n), type(t), device(where) {}
  // NOLINTNEXTLINE(google-explicit-constructor): what may be written may be read.
  ConstView(const View& view)
      : data(view.data), count(view.count), type(view.type), device(view.device) {}
  [[nodiscard]] std::size_t bytes() const { return count * size_of(type); }
};

// Returns a view of a contiguous container or span, in host memory, of one of the element types. A
// temporary container does not compile. Neither does std::vector<bool>, which packs its elements:
// use an array of bool.
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
