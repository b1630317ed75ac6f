#include "comm/backend/operation.h"

#include <algorithm>

#include "comm/base/mix.h"
#include "comm/base/text.h"

namespace bp {
namespace {

std::string counts_text(const std::vector<std::size_t>& counts) {
  const bool equal = std::adjacent_find(counts.begin(), counts.end(),
                                        [](auto a, auto b) { return a != b; }) == counts.end();
  if (counts.empty() || equal) return concat(counts.empty() ? 0 : counts.front());
  constexpr std::size_t kShown = 8;
  std::string text;
  MixHash all;
  for (std::size_t r = 0; r < counts.size(); ++r) {
    if (r < kShown) text += concat(r == 0 ? "" : "+", counts[r]);
    all.add(counts[r]);
  }
  return counts.size() <= kShown ? text : concat(text, "+... (layout ", all.value(), ")");
}

}  // namespace

std::string describe(const Operation& operation) {
  std::string text(name_of(operation.kind));
  const ConstView whole = operation.whole();
  switch (operation.kind) {
    case Operation::Kind::all_reduce:
    case Operation::Kind::reduce_scatter:
      text += concat(" ", name_of(operation.reduce), " of ", whole.count, " ", name_of(whole.type));
      break;
    case Operation::Kind::broadcast:
      text += concat(" of ", whole.count, " ", name_of(whole.type), " from rank ", operation.root);
      break;
    case Operation::Kind::all_gather:
      text += concat(" of ", counts_text(operation.counts), " ", name_of(whole.type));
      break;
    case Operation::Kind::barrier:
      break;
  }
  if (!operation.name.empty()) text += concat(" '", operation.name, "'");
  return text;
}

}  // namespace bp
