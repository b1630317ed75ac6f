// The element types of bp as a test goes over them: all rows of BP_DATA_TYPES, so that a new type
// is tested without another list.
#pragma once

#include <type_traits>
#include <utility>

#include "bp/types.h"

namespace bp {
namespace test {

// A bool that std::vector keeps as a byte of its own.
struct Bool {
  bool value = false;
  bool operator==(const Bool&) const = default;
};

// What the tests' vectors hold of an element type.
template <class Element>
using Stored = std::conditional_t<std::is_same_v<Element, bool>, Bool, Element>;

}  // namespace test

template <>
inline constexpr DataType kDataTypeOf<test::Bool> = DataType::boolean;

namespace test {

// Calls f(std::type_identity<T>{}) for every element type, where T is its Stored type.
template <class F>
void for_each_type(F&& f) {
#define BP_ROW(name, text, number, Element, type_class) f(std::type_identity<Stored<Element>>{});
  BP_DATA_TYPES(BP_ROW)
#undef BP_ROW
}

}  // namespace test
}  // namespace bp
