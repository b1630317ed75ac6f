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

const std::string& character_of_byte(unsigned char byte) {
  static const std::array<std::string, 256> kCharacters = make_characters();
  return kCharacters[byte];
}

BytePairs::BytePairs(Ids ids,
                     const std::vector<std::pair<std::string, std::string>>& merges,
                     const Options& options)
    : ids_(std::move(ids)), options_(options), merges_(std::bit_ceil(2 * merges.size() + 1)) {
  const auto id_of = [&](const std::string& token) {
    const auto found = ids_.find(token);
    if (found == ids_.end()) {
      refuse(concat("a merge needs the token '", quoted_line(token), "', which is missing"));
    }
    return found->second;
  };
  for (std::size_t byte = 0; byte < byte_ids_.size(); ++byte) {
    const auto found = ids_.find(character_of_byte(static_cast<unsigned char>(byte)));
    byte_ids_[byte] = found == ids_.end() ? -1 : found->second;
  }
  std::int32_t rank = 0;
  for (const auto& [left, right] : merges) {
    const std::uint64_t pair = pair_of(id_of(left), id_of(right));
    place_of(pair) = {pair, rank++, id_of(left + right)};  // of two equal ones the last counts
  }
}

BytePairs::Merge& BytePairs::place_of(std::uint64_t pair) {
  const std::size_t mask = merges_.size() - 1;
  std::size_t at = hash_of(pair) & mask;
  while (merges_[at].rank >= 0 && merges_[at].pair != pair) at = (at + 1) & mask;
  return merges_[at];
}

const BytePairs::Merge* BytePairs::find(std::int32_t left, std::int32_t right) const {
  const std::uint64_t pair = pair_of(left, right);
  const std::size_t mask = merges_.size() - 1;
  for (std::size_t at = hash_of(pair) & mask; merges_[at].rank >= 0; at = (at + 1) & mask) {
    if (merges_[at].pair == pair) return &merges_[at];
  }
  return nullptr;
}

std::optional<std::int32_t> BytePairs::whole(std::string_view word) const {
  std::string token;
  for (const char byte : word) token += character_of_byte(static_cast<unsigned char>(byte));
  const auto found = ids_.find(token);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
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
    for (std::size_t i = 0; i < pieces_.size(); ++i) add(static_cast<std::int32_t>(i));
  }

  const std::vector<Piece>& run() {
    while (!candidates_.empty()) {
      const Candidate best = candidates_.top();
      candidates_.pop();
      Piece& left = pieces_[static_cast<std::size_t>(best.left)];
      if (left.id < 0 || left.after < 0) continue;
      Piece& right = pieces_[static_cast<std::size_t>(left.after)];
      const Merge* const merge = model_.find(left.id, right.id);
      if (merge == nullptr || merge->id != best.id) continue;  // one of both was merged since
      left.id = merge->id;
      left.after = right.after;
      right.id = -1;
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

  // Adds the pair that begins with a piece, if it can be merged.
  void add(std::int32_t left) {
    const Piece& piece = pieces_[static_cast<std::size_t>(left)];
    if (piece.after < 0) return;
    const Merge* const merge =
        model_.find(piece.id, pieces_[static_cast<std::size_t>(piece.after)].id);
    if (merge != nullptr) candidates_.push({merge->rank, left, merge->id});
  }

  const BytePairs& model_;
  std::vector<Piece> pieces_;
  std::priority_queue<Candidate> candidates_;
};

void BytePairs::operator()(std::string_view word, std::vector<std::int32_t>& ids) const {
  if (options_.ignore_merges) {
    if (const auto id = whole(word)) return ids.push_back(*id);
  }
  Merging merging(*this, pieces_of(word));
  for (const Piece& piece : merging.run()) {
    if (piece.id >= 0) ids.push_back(piece.id);
  }
}

}  // namespace bp::trainer
