#include "trainer/text/pair_merger.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace bp::trainer {
namespace {

using Ids = std::vector<std::int32_t>;

bool holds(const Ids& pieces, const std::pair<std::int32_t, std::int32_t>& pair) {
  const auto is_pair = [&](auto left, auto right) { return std::pair(left, right) == pair; };
  return std::ranges::adjacent_find(pieces, is_pair) != pieces.end();
}

// Replaces pairs from left to right: in "aaa" the first two are merged.
void replace(Ids& pieces, const std::pair<std::int32_t, std::int32_t>& pair, std::int32_t merged) {
  std::size_t to = 0;
  for (std::size_t from = 0; from < pieces.size(); ++from) {
    const bool here =
        from + 1 < pieces.size() && pieces[from] == pair.first && pieces[from + 1] == pair.second;
    pieces[to++] = here ? merged : pieces[from];
    from += here ? 1 : 0;
  }
  pieces.resize(to);
}

}  // namespace

std::size_t PairMerger::PairHash::operator()(const Pair& pair) const {
  const auto both =
      static_cast<std::uint64_t>(pair.first) << 32 | static_cast<std::uint32_t>(pair.second);
  return static_cast<std::size_t>((both ^ both >> 29) * 0xBF58476D1CE4E5B9U >> 7);
}

bool PairMerger::Candidate::operator<(const Candidate& other) const {
  return std::tie(count, other.pair) < std::tie(other.count, pair);
}

PairMerger::Id PairMerger::id_of(const std::string& token) {
  const auto [place, is_new] = ids_.emplace(token, static_cast<Id>(tokens_.size()));
  if (is_new) tokens_.push_back(token);
  return place->second;
}

void PairMerger::add_word(const std::vector<std::string>& pieces, std::int64_t count) {
  Word word{{}, count};
  for (const std::string& piece : pieces) word.pieces.push_back(id_of(piece));
  words_.push_back(std::move(word));
  count_pairs(words_.size() - 1, +1);
}

void PairMerger::count_pairs(std::size_t index, int sign) {
  const Word& word = words_[index];
  for (std::size_t i = 1; i < word.pieces.size(); ++i) {
    PairUse& use = pairs_[{word.pieces[i - 1], word.pieces[i]}];
    use.count += sign * word.count;
    if (sign > 0 && (use.words.empty() || use.words.back() != index)) use.words.push_back(index);
  }
}

void PairMerger::merge_until(std::size_t size) {
  constexpr std::int64_t kFewest = 2;
  for (const auto& [pair, use] : pairs_) candidates_.push({use.count, pair});
  while (tokens_.size() < size && !candidates_.empty()) {
    const Candidate best = candidates_.top();
    candidates_.pop();
    const std::int64_t count = pairs_[best.pair].count;
    if (count != best.count) {  // merges since then have removed some of the pairs
      if (count > 0) candidates_.push({count, best.pair});
      continue;
    }
    if (count < kFewest) break;
    merge(best.pair);
  }
}

PairMerger::Id PairMerger::add_merged(const Pair& pair) {
  const std::string first = tokens_[static_cast<std::size_t>(pair.first)];
  const std::string second = tokens_[static_cast<std::size_t>(pair.second)];
  merges_.emplace_back(first, second);
  return id_of(first + second.substr(second.starts_with(prefix_) ? prefix_.size() : 0));
}

void PairMerger::merge(const Pair& pair) {
  const Id merged = add_merged(pair);
  const std::vector<std::size_t> affected = std::move(pairs_[pair].words);
  std::set<Pair> grown;
  for (const std::size_t index : affected) {
    Ids& pieces = words_[index].pieces;
    if (!holds(pieces, pair)) continue;
    count_pairs(index, -1);
    replace(pieces, pair, merged);
    count_pairs(index, +1);
    for (std::size_t i = 1; i < pieces.size(); ++i) {
      if (pieces[i - 1] == merged || pieces[i] == merged) {
        grown.insert({pieces[i - 1], pieces[i]});
      }
    }
  }
  for (const Pair& next : grown) candidates_.push({pairs_[next].count, next});
}

}  // namespace bp::trainer
