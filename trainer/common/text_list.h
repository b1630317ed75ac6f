// A list as text: "a, b, c".
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/text.h"

namespace bp::trainer {

// Returns text_of(item) of each item, as concat() prints it, with the separator between two of
// them.
template <class Items, class TextOf = std::identity>
[[nodiscard]] std::string list_of(const Items& items,
                                  std::string_view separator,
                                  const TextOf& text_of = {}) {
  std::string text;
  bool first = true;
  for (const auto& item : items) {
    if (!std::exchange(first, false)) text += separator;
    const auto& one = std::invoke(text_of, item);
    if constexpr (std::is_convertible_v<decltype(one), std::string_view>) {
      text += one;
    } else {
      text += concat(one);
    }
  }
  return text;
}

}  // namespace bp::trainer
