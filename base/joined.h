#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace bp {

// Returns the parts, or what `text` makes of each, with `between` between two of them.
template <class Parts, class Text = std::identity>
[[nodiscard]] std::string joined(const Parts& parts,
                                 std::string_view between,
                                 const Text& text = {}) {
  std::string all;
  for (const auto& part : parts) all += concat(all.empty() ? "" : between, std::invoke(text, part));
  return all;
}

// Returns at most `most` of the names: "a, b and 4 more".
template <class Text = std::identity>
[[nodiscard]] std::string joined_up_to(std::size_t most,
                                       const std::vector<std::string>& names,
                                       const Text& text = {}) {
  const auto shown = std::span(names).first(std::min(most, names.size()));
  const std::size_t more = names.size() - shown.size();
  return joined(shown, ", ", text) + (more == 0 ? "" : concat(" and ", more, " more"));
}

}  // namespace bp
