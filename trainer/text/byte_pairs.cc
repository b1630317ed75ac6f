#include "trainer/text/byte_pairs.h"

#include <algorithm>
#include <bit>
#include <queue>
#include <tuple>

#include "base/quoted.h"
#include "base/refuse.h"
#include "base/text.h"
#include "base/utf8.h"

namespace bp::trainer {
namespace {

bool stands_for_itself(unsigned byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

std::array<std::string, 256> make_characters() {
  std::array<std::string, 256> characters;
  char32_t next = 0x100;
  for (unsigned byte = 0; byte < characters.size(); ++byte) {
    append_utf8(stands_for_itself(byte) ? byte : next++, characters[byte]);
  }
  return characters;
}

std::uint64_t pair_of(std::int32_t left, std::int32_t right) {
  return static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right);
}

std::size_t hash_of(std::uint64_t pair) {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15U;
  return static_cast<std::size_t>((pair * kOdd) >> 20U);
}

}  // namespace

const std::string& character_of_byte(char byte) {
  static const std::array<std::string, 256> kCharacters = make_characters();
  return kCharacters[static_cast<unsigned char>(byte)];
}

BytePairs::BytePairs(Ids ids,
                     const std::vector<std::pair<std::string, std::string>>& merges,
                     const Options& options)
    : ids_(std::move(ids)), options_(options), merges_(std::bit_ceil(2 * merges.size() + 1)) {
  const auto needed = [&](const std::string& token) {
    const std::int32_t id = id_of(token);
    if (id < 0) {
      refuse(concat("a merge needs the token '", quoted_line(token), "', which is missing"));
    }
    return id;
  };
  for (std::size_t byte = 0; byte < byte_ids_.size(); ++byte) {
    byte_ids_[byte] = id_of(character_of_byte(static_cast<char>(byte)));
  }
  std::int32_t rank = 0;
  for (const auto& [left, right] : merges) {
    const std::uint64_t pair = pair_of(needed(left), needed(right));
    // Of two equal ones the last counts.
    merges_[place_of(pair)] = {.pair = pair, .rank = rank++, .id = needed(left + right)};
  }
}

std::int32_t BytePairs::id_of(const std::string& token) const {
  const auto found = ids_.find(token);
  return found == ids_.end() ? -1 : found->second;
}

std::size_t BytePairs::place_of(std::uint64_t pair) const {
  const std::size_t mask = merges_.size() - 1;
  std::size_t at = hash_of(pair) & mask;
  while (merges_[at].rank >= 0 && merges_[at].pair != pair) at = (at + 1) & mask;
  return at;
}

std::vector<BytePairs::Piece> BytePairs::pieces_of(std::string_view word) const {
  std::vector<Piece> pieces;
  pieces.reserve(word.size());
  bool after_unknown = false;
  for (const char byte : word) {
    const std::int32_t id = byte_ids_[static_cast<unsigned char>(byte)];
    const bool is_fused = id < 0 && options_.fuse_unknown && after_unknown;
    after_unknown = id < 0;
    if (is_fused || (id < 0 && options_.unknown < 0)) continue;
    const auto number = static_cast<std::int32_t>(pieces.size());
    pieces.push_back({id < 0 ? options_.unknown : id, number - 1, number + 1});
  }
  if (!pieces.empty()) pieces.back().after = -1;
  return pieces;
}

// The merges of one word.
class BytePairs::Merging {
 public:
  Merging(const BytePairs& model, std::vector<Piece> pieces)
      : model_(model), pieces_(std::move(pieces)) {
    std::vector<Candidate> room;
    room.reserve(2 * pieces_.size());
    candidates_ = std::priority_queue<Candidate>({}, std::move(room));
    for (std::size_t i = 0; i < pieces_.size(); ++i) add(static_cast<std::int32_t>(i));
  }

  const std::vector<Piece>& run() {
    while (!candidates_.empty()) {
      const Candidate best = candidates_.top();
      candidates_.pop();
      Piece& left = pieces_[static_cast<std::size_t>(best.left)];
      if (left.merge == nullptr || left.merge->id != best.id) continue;  // it was merged since
      Piece& right = pieces_[static_cast<std::size_t>(left.after)];
      left.id = left.merge->id;
      left.after = right.after;
      right = {.id = -1};
      if (left.after >= 0) pieces_[static_cast<std::size_t>(left.after)].before = best.left;
      if (left.before >= 0) add(left.before);
      add(best.left);
    }
    return pieces_;
  }

 private:
  struct Candidate {
    std::int32_t rank = 0;
    std::int32_t left = 0;                          // the number of the piece
    std::int32_t id = 0;                            // of the result
    bool operator<(const Candidate& other) const {  // the queue's top is its largest
      return std::tie(other.rank, other.left) < std::tie(rank, left);
    }
  };

  // Looks for the merge of a piece with the one after it, which becomes a candidate.
  void add(std::int32_t left) {
    Piece& piece = pieces_[static_cast<std::size_t>(left)];
    piece.merge = nullptr;
    if (piece.after < 0) return;
    const Piece& right = pieces_[static_cast<std::size_t>(piece.after)];
    const Merge& merge = model_.merges_[model_.place_of(pair_of(piece.id, right.id))];
    if (merge.rank < 0) return;
    piece.merge = &merge;
    candidates_.push({.rank = merge.rank, .left = left, .id = merge.id});
  }

  const BytePairs& model_;
  std::vector<Piece> pieces_;
  std::priority_queue<Candidate> candidates_;
};

void BytePairs::operator()(std::string_view word, std::vector<std::int32_t>& ids) const {
  if (options_.ignore_merges) {
    std::string token;
    for (const char byte : word) token += character_of_byte(byte);
    if (const std::int32_t id = id_of(token); id >= 0) return ids.push_back(id);
  }
  Merging merging(*this, pieces_of(word));
  for (const Piece& piece : merging.run()) {
    if (piece.id >= 0) ids.push_back(piece.id);
  }
}

}  // namespace bp::trainer
