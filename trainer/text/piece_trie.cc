#include "trainer/text/piece_trie.h"

#include <algorithm>
#include <utility>

namespace bp::trainer {

PieceTrie::PieceTrie(const std::vector<std::string>& pieces_by_id) {
  std::vector<std::pair<std::string_view, std::int32_t>> pieces;
  for (const std::string& piece : pieces_by_id) {
    pieces.emplace_back(piece, static_cast<std::int32_t>(pieces.size()));
  }
  std::ranges::sort(pieces);
  struct Range {  // the pieces below a node, which begin with the same bytes
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t depth = 0;
  };
  std::vector<Range> ranges = {{0, pieces.size(), 0}};
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    std::size_t begin = ranges[node].begin;
    const std::size_t end = ranges[node].end;
    const std::size_t depth = ranges[node].depth;
    if (begin < end && pieces[begin].first.size() == depth)
      nodes_[node].id = pieces[begin++].second;
    nodes_[node].first_child = static_cast<std::uint32_t>(nodes_.size());
    while (begin < end) {
      const char label = pieces[begin].first[depth];
      const auto of_label = [&](const auto& piece) { return piece.first[depth] == label; };
      const auto first = pieces.begin() + static_cast<std::ptrdiff_t>(begin);
      const auto last = pieces.begin() + static_cast<std::ptrdiff_t>(end);
      const auto next =
          static_cast<std::size_t>(std::find_if_not(first, last, of_label) - pieces.begin());
      ranges.push_back({begin, next, depth + 1});
      labels_.push_back(label);
      nodes_.emplace_back();
      ++nodes_[node].children;
      begin = next;
    }
  }
}

}  // namespace bp::trainer
