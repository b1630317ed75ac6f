#include "trainer/text/word_pieces.h"

#include <algorithm>

#include "base/utf8.h"

namespace bp::trainer {
namespace {

bool too_long(std::string_view word) {
  constexpr std::int64_t kLongestWord = 100;  // characters
  return std::ranges::count(word, false, continues_character) > kLongestWord;
}

}  // namespace

WordPieces::WordPieces(const std::vector<std::string>& tokens) {
  std::int32_t id = 0;
  for (const std::string& token : tokens) {
    whole_.emplace(token, id);
    if (token.starts_with("##")) {
      continuing_.emplace(std::string_view(token).substr(2), id);
    }
    longest_token_ = std::max(longest_token_, token.size());
    ++id;
  }
  if (const auto found = whole_.find("[UNK]"); found != whole_.end()) unknown_ = found->second;
}

void WordPieces::append(std::string_view word, std::vector<std::int32_t>& ids) const {
  const std::size_t before = ids.size();
  std::string_view rest = too_long(word) ? std::string_view() : word;
  while (!rest.empty()) {
    const bool start = rest.size() == word.size();
    const std::size_t length = append_longest(start ? whole_ : continuing_, rest, ids);
    if (length == 0) {
      ids.resize(before);
      break;
    }
    rest.remove_prefix(length);
  }
  if (ids.size() == before) ids.push_back(unknown_);
}

std::size_t WordPieces::append_longest(const Ids& pieces,
                                       std::string_view rest,
                                       std::vector<std::int32_t>& ids) const {
  for (std::size_t length = std::min(rest.size(), longest_token_); length > 0; --length) {
    if (length < rest.size() && continues_character(rest[length])) continue;
    const auto found = pieces.find(rest.substr(0, length));
    if (found == pieces.end()) continue;
    ids.push_back(found->second);
    return length;
  }
  return 0;
}

}  // namespace bp::trainer
