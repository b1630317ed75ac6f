#include "trainer/text/vocabulary_training.h"

#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/utf8.h"

namespace bp::trainer {
namespace {

using Id = std::int32_t;
using Pair = std::pair<Id, Id>;

struct Word {
  std::vector<Id> pieces;
  std::int64_t count = 0;
};

struct PairHash {
  std::size_t operator()(const Pair& pair) const {
    const auto both =
        static_cast<std::uint64_t>(pair.first) << 32 | static_cast<std::uint32_t>(pair.second);
    return static_cast<std::size_t>((both ^ both >> 29) * 0xBF58476D1CE4E5B9U >> 7);
  }
};

struct PairUse {
  std::int64_t count = 0;
  // Words that have had the pair; a merge may have removed it since.
  std::vector<std::size_t> words;
};

// A pair to merge. The most frequent comes first; of equals, the one with the smaller ids.
struct Candidate {
  std::int64_t count = 0;
  Pair pair;
  bool operator<(const Candidate& other) const {
    return std::tie(count, other.pair) < std::tie(other.count, pair);
  }
};

std::vector<char32_t> characters_of(std::string_view word) {
  std::vector<char32_t> characters;
  for (std::size_t at = 0; at < word.size();) {
    characters.push_back(next_code_point(word, at));
  }
  return characters;
}

class Merger {
 public:
  explicit Merger(const std::map<std::string_view, std::int64_t>& counts) {
    for (const char* token : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}) {
      id_of(token);
    }
    const std::set<char32_t> alphabet = most_frequent_characters(counts);
    for (const char32_t c : alphabet) {
      std::string token;
      append_utf8(c, token);
      id_of(token);
    }
    for (const auto& [word, count] : counts) {
      add_word(word, count, alphabet);
    }
    for (const auto& [pair, use] : pairs_) {
      candidates_.push({use.count, pair});
    }
  }

  std::vector<std::string> merge_until(std::size_t size) {
    constexpr std::int64_t kFewest = 2;
    while (tokens_.size() < size && !candidates_.empty()) {
      const Candidate best = candidates_.top();
      candidates_.pop();
      const std::int64_t count = pairs_[best.pair].count;
      if (count != best.count) {  // merges since then have removed some of the pairs
        if (count > 0) {
          candidates_.push({count, best.pair});
        }
        continue;
      }
      if (count < kFewest) {
        break;
      }
      merge(best.pair);
    }
    return tokens_;
  }

 private:
  static std::set<char32_t> most_frequent_characters(
      const std::map<std::string_view, std::int64_t>& counts) {
    constexpr std::size_t kMost = 1000;
    std::map<char32_t, std::int64_t> frequency;
    for (const auto& [word, count] : counts) {
      for (const char32_t c : characters_of(word)) {
        frequency[c] += count;
      }
    }
    std::vector<std::pair<std::int64_t, char32_t>> order;
    for (const auto& [c, count] : frequency) {
      order.emplace_back(-count, c);
    }
    std::sort(order.begin(), order.end());
    order.resize(std::min(order.size(), kMost));
    std::set<char32_t> alphabet;
    for (const auto& [unused, c] : order) {
      alphabet.insert(c);
    }
    return alphabet;
  }

  Id id_of(const std::string& token) {
    const auto [place, is_new] = ids_.emplace(token, static_cast<Id>(tokens_.size()));
    if (is_new) {
      tokens_.push_back(token);
    }
    return place->second;
  }

  void add_word(std::string_view text, std::int64_t count, const std::set<char32_t>& alphabet) {
    Word word{{}, count};
    for (const char32_t c : characters_of(text)) {
      if (alphabet.count(c) != 0) {
        std::string token = word.pieces.empty() ? "" : "##";
        append_utf8(c, token);
        word.pieces.push_back(id_of(token));
      }
    }
    words_.push_back(std::move(word));
    count_pairs(words_.size() - 1, +1);
  }

  void count_pairs(std::size_t index, int sign) {
    const Word& word = words_[index];
    for (std::size_t i = 1; i < word.pieces.size(); ++i) {
      PairUse& use = pairs_[{word.pieces[i - 1], word.pieces[i]}];
      use.count += sign * word.count;
      if (sign > 0 && (use.words.empty() || use.words.back() != index)) {
        use.words.push_back(index);
      }
    }
  }

  void merge(const Pair& pair) {
    const std::string& second = tokens_[static_cast<std::size_t>(pair.second)];
    const Id merged = id_of(tokens_[static_cast<std::size_t>(pair.first)] +
                            (second.starts_with("##") ? second.substr(2) : second));
    const std::vector<std::size_t> affected = std::move(pairs_[pair].words);
    std::set<Pair> grown;
    for (const std::size_t index : affected) {
      if (!holds(words_[index].pieces, pair)) {
        continue;
      }
      count_pairs(index, -1);
      replace(words_[index].pieces, pair, merged);
      count_pairs(index, +1);
      const std::vector<Id>& pieces = words_[index].pieces;
      for (std::size_t i = 1; i < pieces.size(); ++i) {
        if (pieces[i - 1] == merged || pieces[i] == merged) {
          grown.insert({pieces[i - 1], pieces[i]});
        }
      }
    }
    for (const Pair& next : grown) {
      candidates_.push({pairs_[next].count, next});
    }
  }

  static bool holds(const std::vector<Id>& pieces, const Pair& pair) {
    for (std::size_t i = 1; i < pieces.size(); ++i) {
      if (pieces[i - 1] == pair.first && pieces[i] == pair.second) {
        return true;
      }
    }
    return false;
  }

  // Replaces pairs from left to right: in "aaa" the first two are merged.
  static void replace(std::vector<Id>& pieces, const Pair& pair, Id merged) {
    std::size_t to = 0;
    for (std::size_t from = 0; from < pieces.size(); ++from) {
      const bool here =
          from + 1 < pieces.size() && pieces[from] == pair.first && pieces[from + 1] == pair.second;
      pieces[to++] = here ? merged : pieces[from];
      from += here ? 1 : 0;
    }
    pieces.resize(to);
  }

  std::vector<std::string> tokens_;
  std::unordered_map<std::string, Id> ids_;
  std::vector<Word> words_;
  std::unordered_map<Pair, PairUse, PairHash> pairs_;
  std::priority_queue<Candidate> candidates_;
};

}  // namespace

void VocabularyTrainer::add(std::string_view text) {
  constexpr std::size_t kLongestWord = 400;  // bytes; longer words are unknown to the tokenizer
  for (const std::string& word : splitter_.split(text)) {
    if (word.size() <= kLongestWord) {
      ++words_[word];
    }
  }
}

Vocabulary VocabularyTrainer::train(int size) const {
  const std::map<std::string_view, std::int64_t> sorted(words_.begin(), words_.end());
  return {Merger(sorted).merge_until(static_cast<std::size_t>(std::max(size, 0)))};
}

}  // namespace bp::trainer
