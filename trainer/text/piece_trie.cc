#include "trainer/text/piece_trie.h"

#include <algorithm>
#include <span>
#include <utility>

namespace bp::trainer {

PieceTrie::PieceTrie(const std::vector<std::string>& pieces_by_id) {
  using Piece = std::pair<std::string_view, std::int32_t>;
  std::vector<Piece> pieces;
  for (const std::string& piece : pieces_by_id) {
    pieces.emplace_back(piece, static_cast<std::int32_t>(pieces.size()));
  }
  std::ranges::sort(pieces);
  struct Range {  // the pieces below a node, which begin with the same bytes
    std::span<const Piece> pieces;
    std::size_t depth = 0;
  };
  std::vector<Range> ranges = {Range{.pieces = pieces}};
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    auto [below, depth] = ranges[node];
    if (!below.empty() && below.front().first.size() == depth) {
      nodes_[node].id = below.front().second;
      below = below.subspan(1);
    }
    nodes_[node].first_child = static_cast<std::uint32_t>(nodes_.size());
    while (!below.empty()) {
      const char label = below.front().first[depth];
      std::size_t count = 1;
      while (count < below.size() && below[count].first[depth] == label) ++count;
      ranges.push_back({below.first(count), depth + 1});
      labels_.push_back(label);
      nodes_.emplace_back();
      ++nodes_[node].children;
      below = below.subspan(count);
    }
  }
}

}  // namespace bp::trainer
