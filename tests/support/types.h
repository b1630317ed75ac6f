// The element types of bp as a test goes over them: all rows of BP_DATA_TYPES, so that a new type
// is tested without another list.
#pragma once

#include <type_traits>
#include <utility>

#include "bp/types.h"

namespace bp::test {

// Calls f(std::type_identity<T>{}) for the C++ type T of every element type.
template <class F>
void for_each_type(F&& f) {
#define BP_ROW(name, text, number, Element, type_class) f(std::type_identity<Element>{});
  BP_DATA_TYPES(BP_ROW)
#undef BP_ROW
}

}  // namespace bp::test
