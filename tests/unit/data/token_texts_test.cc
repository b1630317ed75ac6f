#include "trainer/text/token_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/places.h"

namespace bp::trainer {
namespace {

Vocabulary golden_vocabulary(const std::string& family) {
  return Vocabulary::read(kSourceDir + "/tests/golden/tokenizers/" + family + ".json");
}

// The text of a text's tokens.
std::string through_tokens(const Vocabulary& vocabulary, const std::string& text) {
  const std::vector<TokenText> texts = token_texts(vocabulary);
  std::vector<std::int32_t> ids;
  Tokenizer(vocabulary).encode(text, ids);
  std::string joined;
  for (const std::int32_t id : ids) {
    const TokenText& token = texts.at(static_cast<std::size_t>(id));
    if (token.begins_word && !joined.empty()) joined += ' ';
    joined += token.text;
  }
  return joined;
}

TEST(TokenTexts, OfWordPiecesHaveNoMarks) {
  const Vocabulary vocabulary{{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "red", "##s", "##"}};
  EXPECT_EQ(through_tokens(vocabulary, "reds red"), "reds red");
  EXPECT_TRUE(token_texts(vocabulary).back().begins_word);
  EXPECT_EQ(token_texts(vocabulary).back().text, "##");
}

TEST(TokenTexts, OfBytesAreTheBytes) {
  for (const char* family : {"roberta", "modernbert"}) {
    const Vocabulary vocabulary = golden_vocabulary(family);
    for (const std::string text :
         {"letter small", "x\t\n  y", "\u00e9\u4f60\U0001F642 a", "It's 10.5 \u0120 and \u2581"}) {
      EXPECT_EQ(through_tokens(vocabulary, text), text) << family;
    }
  }
  std::string bytes;
  for (const TokenText& token : token_texts(golden_vocabulary("roberta"))) {
    if (token.text.size() == 1) bytes += token.text;
  }
  std::ranges::sort(bytes);
  for (int byte = 0; byte < 256; ++byte) {
    const auto character = static_cast<char>(byte);
    EXPECT_TRUE(byte == ' ' || bytes.find(character) != std::string::npos) << byte;
  }
}

TEST(TokenTexts, OfUnigramHaveBlanks) {
  for (const char* family : {"xlm-roberta", "albert", "deberta-v3"}) {
    EXPECT_EQ(through_tokens(golden_vocabulary(family), "letter  small"), "letter small") << family;
  }
}

TEST(TokenTexts, OnlyWhiteSpaceEndsAWordOfBytes) {
  const Vocabulary vocabulary = golden_vocabulary("roberta");
  const std::vector<TokenText> texts = token_texts(vocabulary);
  std::vector<std::int32_t> ids;
  Tokenizer(vocabulary).encode("letters, letters", ids);
  int words = 0;
  for (const std::int32_t id : ids) words += texts.at(static_cast<std::size_t>(id)).begins_word;
  EXPECT_EQ(words, 1) << "the first word begins where the text does";
}

}  // namespace
}  // namespace bp::trainer
