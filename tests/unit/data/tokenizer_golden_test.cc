// Compares the ids of 10,000 unusual strings with those of the tokenizers wheel.
// tests/golden/make_tokenizer_golden.py makes the file.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "tests/support/places.h"
#include "trainer/prepare/token_windows.h"
#include "trainer/text/tokenizer.h"

namespace bp::trainer {
namespace {

const std::string kFolder = kSourceDir + "/tests/golden/";

// Replaces each \u{HEX} by its character.
std::string unescape(const std::string& text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text.compare(at, 3, "\\u{") != 0) {
      plain += text[at];
      continue;
    }
    const std::size_t end = text.find('}', at);
    append_utf8(static_cast<char32_t>(std::stoul(text.substr(at + 3, end - at - 3), nullptr, 16)),
                plain);
    at = end;
  }
  return plain;
}

std::string ids_of(Tokenizer& tokenizer, const std::string& text) {
  std::vector<std::int32_t> ids;
  tokenizer.encode(text, ids);
  std::string line;
  for (const std::int32_t id : ids) {
    line += (line.empty() ? "" : " ") + std::to_string(id);
  }
  return line;
}

// docs/features.md, Input: BERT's WordPiece | `--vocab`, `--cased`
TEST(TokenizerGolden, GivesTheIdsOfTheWheel) {
  const Vocabulary vocabulary = Vocabulary::read(kFolder + "tokenizer_vocab.txt");
  Tokenizer uncased(vocabulary, true);
  Tokenizer cased(vocabulary, false);
  std::ifstream golden(kFolder + "tokenizer_golden.txt");
  int strings = 0;
  for (std::string line; std::getline(golden, line); ++strings) {
    const std::size_t tab = line.find('\t', 2);
    const std::string text = line.substr(2, tab - 2);
    ASSERT_EQ(ids_of(line[0] == 'u' ? uncased : cased, unescape(text)), line.substr(tab + 1))
        << "line " << strings + 1 << ": " << text;
  }
  EXPECT_EQ(strings, 10000);
}

// A text that is divided at the ends of its sentences has the tokens of the whole.
// docs/acceptance.md, Data: Folding at sentence ends changes no ids.
TEST(TokenizerGolden, ItsStringsAsSentencesHaveTheSameIds) {
  const Vocabulary vocabulary = Vocabulary::read(kFolder + "tokenizer_vocab.txt");
  Tokenizer tokenizer(vocabulary, true);
  PrepareOptions options;
  options.long_text = LongText::fold_sentence;
  TokenWindows windows(options, tokenizer.another());
  std::ifstream golden(kFolder + "tokenizer_golden.txt");
  std::string before;
  for (std::string line; std::getline(golden, line);) {
    const std::string text = unescape(line.substr(2, line.find('\t', 2) - 2));
    const std::string both = before + ". " + text;
    before = text;
    windows.encode(both);
    std::string ids;
    while (windows.next()) {
      for (const std::int32_t id : windows.sample().subspan(1, windows.sample().size() - 2)) {
        ids += (ids.empty() ? "" : " ") + std::to_string(id);
      }
    }
    ASSERT_EQ(ids, ids_of(tokenizer, both)) << both;
  }
}

}  // namespace
}  // namespace bp::trainer
