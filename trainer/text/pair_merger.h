// Learns merges as the tokenizers wheel's BpeTrainer does: the most frequent pair of neighbouring
// pieces becomes one piece, again and again. Unlike the wheel, it always has the same result for
// the same words in the same order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace bp::trainer {

class PairMerger {
 public:
  using Merges = std::vector<std::pair<std::string, std::string>>;

  // `prefix`: what the pieces after the first one of a word begin with; may be "".
  explicit PairMerger(std::string prefix) : prefix_(std::move(prefix)) {}

  // Adds a token with the next id unless there is one.
  void add_token(const std::string& token) { (void)id_of(token); }
  // Adds a word with the number of times that it occurs; its pieces become tokens.
  void add_word(const std::vector<std::string>& pieces, std::int64_t count);
  // Merges pairs that occur at least twice until there are `size` tokens. Of equally frequent pairs
  // the one with the smaller ids comes first.
  void merge_until(std::size_t size);

  [[nodiscard]] const std::vector<std::string>& tokens() const { return tokens_; }
  [[nodiscard]] const Merges& merges() const { return merges_; }  // in their order

 private:
  using Id = std::int32_t;
  using Pair = std::pair<Id, Id>;
  struct PairHash {
    std::size_t operator()(const Pair& pair) const;
  };
  struct Word {
    std::vector<Id> pieces;
    std::int64_t count = 0;
  };
  struct PairUse {
    std::int64_t count = 0;
    // Words that have had the pair; a merge may have removed it since.
    std::vector<std::size_t> words;
  };
  struct Candidate {
    std::int64_t count = 0;
    Pair pair;
    bool operator<(const Candidate& other) const;  // whether the other one comes first
  };

  Id id_of(const std::string& token);
  void count_pairs(std::size_t index, int sign);  // of the word with this index
  void merge(const Pair& pair);
  Id add_merged(const Pair& pair);

  std::string prefix_;
  std::vector<std::string> tokens_;
  Merges merges_;
  std::unordered_map<std::string, Id> ids_;
  std::vector<Word> words_;
  std::unordered_map<Pair, PairUse, PairHash> pairs_;
  std::priority_queue<Candidate> candidates_;
};

}  // namespace bp::trainer
