// The reader of labelled words in CoNLL's columns.
#include "trainer/tasks/tokens/conll.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "tests/unit/data/input_refusal.h"

namespace bp::trainer {
namespace {

using ::testing::ElementsAre;

std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : " ") + part;
  return out;
}

// Returns "LINE: words / tags" of each sentence.
std::vector<std::string> sentences(std::string_view text, const ConllColumns& columns = {}) {
  ConllReader reader("a.conll", columns);
  std::vector<std::string> found;
  const auto keep = [&] {
    const Sentence& sentence = reader.sentence();
    found.push_back(
        concat(sentence.line, ": ", joined(sentence.words), " / ", joined(sentence.tags)));
  };
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (reader.add(text.substr(0, end))) keep();
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (reader.finish()) keep();
  EXPECT_FALSE(reader.finish());
  return found;
}

std::string conll_refusal(const std::string& text, const ConllColumns& columns = {}) {
  return test::input_refusal([&] { (void)sentences(text, columns); });
}

TEST(Conll, BlankLinesSeparateSentences) {
  EXPECT_THAT(sentences("\n\nEU B-ORG\nrejects O\n \t\n\nPeter B-PER\nBlackburn I-PER"),
              ElementsAre("3: EU rejects / B-ORG O", "7: Peter Blackburn / B-PER I-PER"));
  EXPECT_THAT(sentences("EU B-ORG\n\n"), ElementsAre("1: EU / B-ORG"));
  EXPECT_THAT(sentences(""), ElementsAre());
  EXPECT_THAT(sentences("\n\n"), ElementsAre());
}

TEST(Conll, ColumnsAreSeparatedByBlanksOrATab) {
  EXPECT_THAT(sentences("EU NNP  I-NP I-ORG \r\n. .   O\tO\r\n"), ElementsAre("1: EU . / I-ORG O"));
  EXPECT_THAT(sentences("New York\tB-LOC\nis\tO\n"), ElementsAre("1: New York is / B-LOC O"));
  EXPECT_THAT(sentences("\xEF\xBB\xBF"
                        "EU B-ORG\n"),
              ElementsAre("1: EU / B-ORG"));
}

TEST(Conll, NumbersChooseColumns) {
  EXPECT_THAT(sentences("1 EU B-ORG x\n2 . O y\n", {.word = 2, .tag = 3}),
              ElementsAre("1: EU . / B-ORG O"));
  EXPECT_THAT(sentences("1 EU B-ORG\n", {.word = 2}), ElementsAre("1: EU / B-ORG"));
}

TEST(Conll, OneColumnIsAFileWithoutTags) {
  EXPECT_THAT(sentences("EU\nrejects\n\n#\n# a comment\n"),
              ElementsAre("1: EU rejects / ", "4: # / "));
}

TEST(Conll, DocumentsAndCommentsAreSkipped) {
  EXPECT_THAT(sentences("-DOCSTART- -X- O O\n\nEU NNP I-NP I-ORG\n-DOCSTART-\nIt PRP O O\n"),
              ElementsAre("3: EU / I-ORG", "5: It / O"));
  EXPECT_THAT(sentences("# sent_id = 1\n# text = EU .\nEU B-ORG\n# one more B-ORG\n. O\n# text\n"),
              ElementsAre("3: EU . / B-ORG O"));
}

// A number sign is a word where the line has a word's columns.
TEST(Conll, ANumberSignCanBeAWord) {
  EXPECT_THAT(sentences("# O\n1 O\n\n# B-MISC\n#tag O\n"),
              ElementsAre("1: # 1 / O O", "4: # #tag / B-MISC O"));
  EXPECT_THAT(sentences("# NN O\n1 CD O\n"), ElementsAre("1: # 1 / O O"));
  EXPECT_THAT(sentences("#\tO\n# 1\tO\n"), ElementsAre("1: # # 1 / O O"));
}

TEST(Conll, RefusesOtherColumnsThanTheFirst) {
  EXPECT_EQ(conll_refusal("EU NNP B-ORG\n\nrejects O\n"),
            "65: a.conll, line 3: has 2 columns, but line 1 has 3 | every word needs the same "
            "columns, and a sentence ends with a blank line");
  EXPECT_EQ(conll_refusal("EU B-ORG\nrejects\n"),
            "65: a.conll, line 2: has 1 column, but line 1 has 2 | every word needs the same "
            "columns, and a sentence ends with a blank line");
  EXPECT_EQ(conll_refusal("EU\t\tB-ORG\n"),
            "65: a.conll, line 1: column 2 is empty | write one tab between two columns, and "
            "something in each");
}

TEST(Conll, RefusesColumnsThatTheFileLacks) {
  EXPECT_EQ(conll_refusal("# x\nEU B-ORG\n", {.word = 1, .tag = 3}),
            "65: a.conll, line 2: has 2 columns, and column 3 is wanted | columns are separated by "
            "a tab or by blanks; are the numbers of the columns right?");
  EXPECT_EQ(conll_refusal("EU\n", {.word = 1, .tag = 2}),
            "65: a.conll, line 1: has 1 column, and column 2 is wanted | columns are separated by "
            "a tab or by blanks; are the numbers of the columns right?");
  EXPECT_EQ(conll_refusal("1 EU\n", {.word = 2}),
            "65: a.conll, line 1: words and tags are both in the last column, 2 | name another "
            "column for one of them");
  EXPECT_EQ(conll_refusal("", {.word = 2, .tag = 2}),
            "2: words in column 2 and tags in column 2 of a.conll is impossible | columns are "
            "numbered from 1, and words and tags need one each");
  EXPECT_EQ(conll_refusal("", {.word = 0}),
            "2: words in column 0 and tags in column 0 of a.conll is impossible | columns are "
            "numbered from 1, and words and tags need one each");
}

TEST(Conll, RefusesTagsOfNoKnownForm) {
  EXPECT_EQ(
      conll_refusal("EU B-ORG\nrejects VBZ\n"),
      "65: a.conll, line 2: 'VBZ' in column 2 is not a tag | a tag is O, or B-, I-, E-, S-, L- "
      "or U- and a type, such as B-PER; is the column right?");
  for (const char* tag : {"O", "B-PER", "I-x", "E-A-B", "S--", "L-PER", "U-\xC3\xA4"}) {
    EXPECT_TRUE(is_entity_tag(tag)) << tag;
  }
  for (const char* tag : {"", "B", "B-", "o", "OO", "O-PER", "X-PER", "BPER", "-B-PER"}) {
    EXPECT_FALSE(is_entity_tag(tag)) << tag;
  }
}

TEST(Conll, RefusesBytesThatAreNotUtf8) {
  EXPECT_EQ(conll_refusal("EU B-ORG\nM\xFCller O\n"),
            "65: a.conll, line 2: byte 2 is not UTF-8 | name the file's encoding, for instance "
            "--encoding windows-1252");
}

}  // namespace
}  // namespace bp::trainer
