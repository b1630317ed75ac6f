#include <algorithm>

#include "base/text.h"
#include "bp/collective.h"
#include "bp/error.h"

namespace bp {

Block block_of(std::size_t count, int ranks, int r) {
  if (ranks < 1 || r < 0 || r >= ranks) {
    throw Error(ErrorCode::invalid_argument,
                concat("block_of: there is no block ", r, " of ", ranks,
                       "; blocks are numbered from 0 to one less than the number of ranks"));
  }
  const auto parts = static_cast<std::size_t>(ranks);
  const auto index = static_cast<std::size_t>(r);
  const std::size_t base = count / parts;
  const std::size_t longer = count % parts;  // the first `longer` blocks have one more element
  return {.offset = index * base + std::min(index, longer),
          .count = base + (index < longer ? 1 : 0)};
}

}  // namespace bp
