#include "comm/base/text.h"

#include <system_error>

namespace bp {

std::string error_text(int error_number) { return std::generic_category().message(error_number); }

std::string ranks_text(std::span<const int> ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) text += concat(i == 0 ? "" : ", ", ranks[i]);
  return text;
}

}  // namespace bp
