#include "trainer/text/vocabulary_training.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "trainer/text/bert_encoder.h"
#include "trainer/text/byte_pairs.h"
#include "trainer/text/pair_merger.h"
#include "trainer/text/roberta_files.h"
#include "trainer/text/splitters.h"

namespace bp::trainer {
namespace {

using Characters = std::set<char32_t>;

Characters most_frequent_characters(const std::map<std::string_view, std::int64_t>& counts) {
  constexpr std::size_t kMost = 1000;
  std::map<char32_t, std::int64_t> frequency;
  for (const auto& [word, count] : counts) {
    for (std::size_t at = 0; at < word.size();) frequency[next_code_point(word, at)] += count;
  }
  std::vector<std::pair<std::int64_t, char32_t>> order;
  for (const auto& [c, count] : frequency) order.emplace_back(-count, c);
  std::sort(order.begin(), order.end());
  order.resize(std::min(order.size(), kMost));
  Characters characters;
  for (const auto& [unused, c] : order) characters.insert(c);
  return characters;
}

std::string utf8_of(char32_t c) {
  std::string text;
  append_utf8(c, text);
  return text;
}

std::vector<std::string> characters_of(std::string_view word, const Characters& alphabet) {
  std::vector<std::string> pieces;
  for (std::size_t at = 0; at < word.size();) {
    const char32_t c = next_code_point(word, at);
    if (alphabet.count(c) != 0) pieces.push_back((pieces.empty() ? "" : "##") + utf8_of(c));
  }
  return pieces;
}

std::vector<std::string> bytes_of(std::string_view word) {
  std::vector<std::string> pieces;
  for (const char c : word) pieces.push_back(character_of_byte(c));
  return pieces;
}

}  // namespace

void VocabularyTrainer::add(std::string_view text) {
  if (kind_ == VocabularyKind::byte_pairs) {
    split_as_gpt2(valid_utf8(text), [this](std::string_view word) { ++words_[std::string(word)]; });
    return;
  }
  constexpr std::size_t kLongestWord = 400;  // bytes; longer words are unknown to the tokenizer
  for (const std::string& word : split_words(text, form_)) {
    if (word.size() <= kLongestWord) ++words_[word];
  }
}

Vocabulary VocabularyTrainer::train(int size) const {
  const Counts sorted(words_.begin(), words_.end());
  const auto most = static_cast<std::size_t>(std::max(size, 0));
  return kind_ == VocabularyKind::byte_pairs ? byte_pairs(sorted, most) : word_pieces(sorted, most);
}

Vocabulary VocabularyTrainer::word_pieces(const Counts& counts, std::size_t size) {
  PairMerger merger("##");
  for (const std::string_view token : kBertTokens) merger.add_token(std::string(token));
  const Characters alphabet = most_frequent_characters(counts);
  for (const char32_t c : alphabet) merger.add_token(utf8_of(c));
  for (const auto& [word, count] : counts) merger.add_word(characters_of(word, alphabet), count);
  merger.merge_until(size);
  return {merger.tokens()};
}

Vocabulary VocabularyTrainer::byte_pairs(const Counts& counts, std::size_t size) {
  PairMerger merger("");
  for (const std::string_view token : kRobertaTokens) merger.add_token(std::string(token));
  std::set<std::string> characters;  // in UTF-8, which has the order of the code points
  for (int byte = 0; byte < 256; ++byte) {
    characters.insert(character_of_byte(static_cast<char>(byte)));
  }
  for (const std::string& character : characters) merger.add_token(character);
  for (const auto& [word, count] : counts) merger.add_word(bytes_of(word), count);
  merger.merge_until(size);
  return Vocabulary::parse(roberta_json(merger.tokens(), merger.merges()), "trained.json");
}

}  // namespace bp::trainer
