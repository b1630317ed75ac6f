#include "trainer/text/token_texts.h"

#include <cstddef>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/utf8.h"
#include "trainer/text/byte_pairs.h"
#include "trainer/text/normalizers.h"
#include "trainer/text/pipeline.h"

namespace bp::trainer {
namespace {

TokenText of_word_piece(const std::string& token) {
  const bool continues = token.size() > 2 && token.starts_with("##");
  return {continues ? token.substr(2) : token, !continues};
}

TokenText of_marked(const std::string& token, const std::string& blank) {
  const bool begins = token.starts_with(blank);
  std::string text = token.substr(begins ? blank.size() : 0);
  replace_all(blank, " ", text);
  return {std::move(text), begins};
}

using Bytes = std::unordered_map<std::string_view, char>;

Bytes byte_of_character() {
  Bytes bytes;
  for (int byte = 0; byte < 256; ++byte) {
    bytes.emplace(character_of_byte(static_cast<char>(byte)), static_cast<char>(byte));
  }
  return bytes;
}

// Leaves characters of added tokens, such as a blank, as they are.
std::string bytes_in(std::string_view token, const Bytes& byte_of) {
  std::string bytes;
  for (; !token.empty(); token.remove_prefix(character_length(token))) {
    const std::string_view character = token.substr(0, character_length(token));
    const auto found = byte_of.find(character);
    found == byte_of.end() ? bytes.append(character) : bytes.append(1, found->second);
  }
  return bytes;
}

}  // namespace

std::vector<TokenText> token_texts(const Vocabulary& vocabulary) {
  const Pipeline* const pipeline = vocabulary.pipeline.get();
  const std::string blank = pipeline == nullptr ? "" : pipeline->blank;
  const Bytes byte_of = byte_of_character();
  std::vector<TokenText> texts;
  texts.reserve(vocabulary.tokens.size());
  for (const std::string& token : vocabulary.tokens) {
    texts.push_back(blank.empty() ? of_word_piece(token) : of_marked(token, blank));
    if (blank == character_of_byte(' ')) texts.back().text = bytes_in(texts.back().text, byte_of);
  }
  return texts;
}

}  // namespace bp::trainer
