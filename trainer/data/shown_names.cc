#include "trainer/data/shown_names.h"

#include <algorithm>
#include <cstddef>

#include "base/text.h"

namespace bp::trainer {

std::string shown_names(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 20;
  constexpr std::size_t kLongest = 40;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) {
    const std::string& name = names[i];
    text += text.empty() ? "" : ", ";
    text += name.size() <= kLongest ? name : concat(name.substr(0, kLongest), "...");
  }
  return names.size() <= kMost ? text : concat(text, " and ", names.size() - kMost, " others");
}

}  // namespace bp::trainer
