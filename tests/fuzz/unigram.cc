// A Unigram model and its trie: a text, and pieces, each behind a zero byte and a byte for its
// score.
#include "trainer/text/unigram.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "fuzz.h"
#include "trainer/text/piece_trie.h"

namespace {

using Pieces = std::vector<std::string>;
using Found = std::vector<std::pair<std::size_t, std::int32_t>>;

// The first piece stands for unknown characters.
void read_pieces(std::string_view input, Pieces& pieces, std::vector<double>& scores) {
  std::unordered_set<std::string> known;
  pieces = {"<unk>"};
  scores = {0};
  for (std::size_t zero = input.find('\0'); zero != std::string_view::npos;) {
    const std::size_t next = input.find('\0', zero + 1);
    const std::string_view entry = input.substr(zero + 1, next - zero - 1);
    zero = next;
    if (entry.size() < 2) continue;
    const std::string piece = bp::valid_utf8(entry.substr(1));
    if (piece.empty() || piece == pieces.front() || !known.insert(piece).second) continue;
    pieces.push_back(piece);
    scores.push_back(-static_cast<double>(static_cast<unsigned char>(entry.front())));
  }
}

// The trie finds the pieces with which a text begins, and no others, the shortest first.
void check_trie(const Pieces& pieces, std::string_view text) {
  const bp::trainer::PieceTrie trie(pieces);
  Found found;
  trie.find(text, [&](std::size_t length, std::int32_t id) { found.emplace_back(length, id); });
  std::size_t expected = 0;
  for (const std::string& piece : pieces) expected += text.starts_with(piece) ? 1 : 0;
  bp::test::require(found.size() == expected);
  std::size_t last = 0;
  for (const auto& [length, id] : found) {
    bp::test::require(length > last &&
                      pieces.at(static_cast<std::size_t>(id)) == text.substr(0, length));
    last = length;
  }
}

}  // namespace

FUZZ_TARGET(unigram) {
  using namespace bp::trainer;
  const std::string input = bp::test::text_of(data, size);
  const std::string text = bp::valid_utf8(input.substr(0, input.find('\0')));
  Pieces pieces;
  std::vector<double> scores;
  read_pieces(input, pieces, scores);
  check_trie(pieces, text);
  if (text.empty()) return 0;
  std::vector<std::int32_t> ids;
  Unigram(pieces, scores, 0)(text, ids);
  std::string joined;
  for (const std::int32_t id : ids) joined += pieces.at(static_cast<std::size_t>(id));
  const bool has_unknown = std::find(ids.begin(), ids.end(), 0) != ids.end();
  bp::test::require(!ids.empty() && (has_unknown || joined == text));
  return 0;
}
