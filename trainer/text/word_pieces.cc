#include "trainer/text/word_pieces.h"

#include <algorithm>

#include "base/utf8.h"

namespace bp::trainer {
namespace {

bool begins_character(char byte) { return !continues_character(byte); }

bool too_long(std::string_view word) {
  constexpr std::int64_t kLongestWord = 100;  // characters
  return std::count_if(word.begin(), word.end(), begins_character) > kLongestWord;
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
  unknown_ = find("[UNK]");
}

void WordPieces::append(std::string_view word, std::vector<std::int32_t>& ids) const {
  const std::size_t before = ids.size();
  std::string_view rest = too_long(word) ? std::string_view() : word;
  while (!rest.empty()) {
    const bool start = rest.size() == word.size();
    std::int32_t id = 0;
    const std::size_t length = longest(start ? whole_ : continuing_, longest_token_, rest, id);
    if (length == 0) {
      ids.resize(before);
      break;
    }
    ids.push_back(id);
    rest.remove_prefix(length);
  }
  if (ids.size() == before) {
    ids.push_back(unknown_);
  }
}

std::int32_t WordPieces::find(std::string_view token) const {
  const auto found = whole_.find(token);
  return found == whole_.end() ? -1 : found->second;
}

std::size_t WordPieces::longest(const Ids& ids,
                                std::size_t longest_token,
                                std::string_view rest,
                                std::int32_t& id) {
  for (std::size_t length = std::min(rest.size(), longest_token); length > 0; --length) {
    if (length < rest.size() && !begins_character(rest[length])) {
      continue;
    }
    const auto found = ids.find(rest.substr(0, length));
    if (found != ids.end()) {
      id = found->second;
      return length;
    }
  }
  return 0;
}

}  // namespace bp::trainer
