// Samples of GAP's rows.
#include "trainer/tasks/gap/gap_row.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/data/input_refusal.h"
#include "trainer/input/table_reader.h"

namespace bp::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// 0 to 3 are the special tokens.
Tokenizer gap_tokenizer() {
  return Tokenizer(
      Vocabulary::parse("[PAD]\n[UNK]\n[CLS]\n[SEP]\nann\n##a\nbo\nmet\n.\nshe\n"
                        "her\nhero\ncafe\n##s\nhe\n",
                        "vocab.txt"));
}

using Fields = std::map<std::string, std::string>;

// Anna stands before Bo, and "she" for her.
Fields gap_row() {
  return {{"ID", "test-1"},    {"Text", "Anna met Bo. She met hers."},
          {"Pronoun", "She"},  {"Pronoun-offset", "13"},
          {"A", "Anna"},       {"A-offset", "0"},
          {"A-coref", "TRUE"}, {"B", "Bo"},
          {"B-offset", "9"},   {"B-coref", "FALSE"}};
}

Fields changed(const Fields& changes) {
  Fields fields = changes;
  fields.merge(gap_row());
  return fields;
}

GapSample sample_of(const Fields& row, std::size_t max_length = 512) {
  Tokenizer tokenizer = gap_tokenizer();
  std::vector<std::string_view> fields;
  for (const std::string_view column : kGapColumns)
    fields.emplace_back(row.at(std::string(column)));
  return make_gap_sample(fields, max_length, tokenizer);
}

std::string gap_refusal(const Fields& changes, std::size_t max_length = 512) {
  return test::input_refusal([&] { (void)sample_of(changed(changes), max_length); });
}

TEST(GapRow, PositionsAreThoseOfTheMentionsFirstPieces) {
  const GapSample sample = sample_of(gap_row());
  EXPECT_THAT(sample.ids, ElementsAre(2, 4, 5, 7, 6, 8, 9, 7, 10, 13, 8, 3));
  EXPECT_THAT(sample.positions, ElementsAre(6, 1, 4));
  EXPECT_EQ(sample.label, 1);
  EXPECT_EQ(sample.gender, Gender::feminine);
  EXPECT_THAT(gap_token_types(sample), ElementsAre(0, 2, 0, 0, 3, 0, 1, 0, 0, 0, 0, 0));
}

TEST(GapRow, LabelsAreNeitherOrANameOrUnknown) {
  EXPECT_EQ(sample_of(changed({{"A-coref", "FALSE"}, {"B-coref", "TRUE"}})).label, 2);
  EXPECT_EQ(sample_of(changed({{"A-coref", "false"}, {"B-coref", "False"}})).label, 0);
  EXPECT_EQ(sample_of(changed({{"B-coref", "true"}})).label, 1);
  EXPECT_EQ(sample_of(changed({{"A-coref", ""}, {"B-coref", ""}})).label, -1);
}

TEST(GapRow, OffsetsCountCharacters) {
  const GapSample sample = sample_of(changed({{"Text", "Caf\xC3\xA9. Anna met Bo. She."},
                                              {"Pronoun-offset", "19"},
                                              {"A-offset", "6"},
                                              {"B-offset", "15"}}));
  EXPECT_THAT(sample.ids, ElementsAre(2, 12, 8, 4, 5, 7, 6, 8, 9, 8, 3));
  EXPECT_THAT(sample.positions, ElementsAre(8, 3, 6));
}

// The text is cut at the mentions, so "Bo" is a word of its own where it is a part of another.
TEST(GapRow, AMentionBeginsWithItsOwnPiece) {
  const GapSample sample = sample_of(changed({{"Text", "Anna met annabo. She."},
                                              {"B", "bo"},
                                              {"B-offset", "13"},
                                              {"Pronoun-offset", "17"}}));
  EXPECT_THAT(sample.ids, ElementsAre(2, 4, 5, 7, 4, 5, 6, 8, 9, 8, 3));
  EXPECT_THAT(sample.positions, ElementsAre(8, 1, 6));
}

TEST(GapRow, GendersOfPronouns) {
  for (const char* word : {"he", "Him", "HIS"}) EXPECT_EQ(gender_of(word), Gender::masculine);
  for (const char* word : {"she", "Her", "HERS"}) EXPECT_EQ(gender_of(word), Gender::feminine);
  for (const char* word : {"", "they", "himself"}) EXPECT_EQ(gender_of(word), Gender::unknown);
}

TEST(GapRow, RefusesOffsetsThatDoNotFit) {
  EXPECT_EQ(gap_refusal({{"Pronoun-offset", "-1"}}),
            "65: test-1: Pronoun-offset is '-1', no whole number | it says before which character "
            "of Text the mention begins, counted from 0");
  EXPECT_EQ(gap_refusal({{"A-offset", "1"}}),
            "65: test-1: 'Anna' is not at character 1 of Text (A-offset); there is 'nna met Bo. "
            "She met hers.' | offsets count characters, not bytes, from 0");
  EXPECT_EQ(gap_refusal({{"B-offset", "99"}}),
            "65: test-1: 'Bo' is not at character 99 of Text (B-offset); there is '' | offsets "
            "count characters, not bytes, from 0");
  EXPECT_THAT(gap_refusal({{"Text", "Anna saw " + std::string(50, 'b')}, {"B-offset", "9"}}),
              HasSubstr("there is '" + std::string(39, 'b') + "\u2026'"));
  EXPECT_THAT(gap_refusal({{"B", ""}}), HasSubstr("'' is not at character 9 of Text"));
  EXPECT_THAT(gap_refusal({{"B-offset", "9 "}}), HasSubstr("B-offset is '9 ', no whole number"));
  EXPECT_THAT(gap_refusal({{"B-offset", ""}}), HasSubstr("B-offset is '', no whole number"));
}

TEST(GapRow, RefusesAPronounThatIsNoWord) {
  const std::string hint = " | the pronoun must be a whole word of Text that the vocabulary has";
  EXPECT_EQ(gap_refusal({{"Text", "Anna met Bo. Hero."}, {"Pronoun", "Her"}}),
            "65: test-1: the word at Pronoun-offset, 'Hero.', does not begin with a piece of the "
            "pronoun 'Her'" +
                hint);
  EXPECT_THAT(gap_refusal({{"Text", "Anna met Bo. Hero."}, {"Pronoun", "He"}}),
              HasSubstr("'Hero.', does not begin with a piece of the pronoun 'He'"));
  EXPECT_EQ(gap_refusal({{"Text", "Anna met Bo. It."}, {"Pronoun", "It"}}),
            "65: test-1: the word at Pronoun-offset, 'It.', does not begin with a piece of the "
            "pronoun 'It'" +
                hint);
}

TEST(GapRow, RefusesAnswersLongRowsAndOtherEncodings) {
  EXPECT_EQ(gap_refusal({{"A-coref", "yes"}}),
            "65: test-1: A-coref is 'yes', neither TRUE nor FALSE | both columns are empty where "
            "the answer is unknown");
  EXPECT_EQ(gap_refusal({{"B-coref", ""}}),
            "65: test-1: B-coref is '', neither TRUE nor FALSE | both columns are empty where the "
            "answer is unknown");
  EXPECT_EQ(sample_of(gap_row(), 12).ids.size(), 12U);
  EXPECT_EQ(gap_refusal({}, 11),
            "65: test-1: it has 12 tokens with [CLS] and [SEP]; at most 11 are allowed | raise "
            "--max-length, or shorten Text and correct the offsets");
  EXPECT_EQ(gap_refusal({{"Text", "Anna met B\xF6."}}),
            "65: test-1: Text is not UTF-8 | name the file's encoding, for instance --encoding "
            "windows-1252");
}

// The three files of google-research-datasets/gap-coreference.
class GapFiles : public ::testing::Test {
 protected:
  struct Facts {
    std::vector<int> labels = {0, 0, 0};
    std::size_t longest = 0;
    std::size_t tokens = 0;
    int a_then_b_then_pronoun = 0;
    std::vector<GapSample> samples;
  };

  void SetUp() override {
    const char* data = std::getenv("BP_TEST_DATA");
    if (data == nullptr) GTEST_SKIP() << "BP_TEST_DATA is not set";
    data_ = data;
  }

  [[nodiscard]] Facts read(const std::string& split) const {
    Tokenizer tokenizer(Vocabulary::read(data_ + "/bert-base-uncased/vocab.txt"));
    Dialect dialect = kTsv;
    dialect.header = true;
    TableReader reader(data_ + "/gap/gap-" + split + ".tsv", dialect);
    Facts facts;
    while (reader.next()) {
      const std::vector<std::string_view> fields(reader.fields().begin(),
                                                 reader.fields().begin() + 10);
      if (reader.row() == 0) continue;
      const GapSample sample = make_gap_sample(fields, 512, tokenizer);
      std::vector<std::int32_t> whole = {tokenizer.form().cls};
      tokenizer.encode(fields[1], whole);
      whole.push_back(tokenizer.form().sep);
      EXPECT_EQ(sample.ids, whole) << fields[0];
      EXPECT_NE(sample.gender, Gender::unknown) << fields[0];
      ++facts.labels.at(static_cast<std::size_t>(sample.label));
      facts.longest = std::max(facts.longest, sample.ids.size());
      facts.tokens += sample.ids.size();
      const auto [p, a, b] = sample.positions;
      facts.a_then_b_then_pronoun += a < b && b < p ? 1 : 0;
      facts.samples.push_back(sample);
    }
    return facts;
  }

  std::string data_;
};

// docs/acceptance.md, Data: The published files of GAP have the known rows, labels, lengths and
// positions.
TEST_F(GapFiles, HaveTheKnownNumbers) {
  const Facts development = read("development");
  EXPECT_EQ(development.samples.size(), 2000U);
  EXPECT_THAT(development.labels, ElementsAre(201, 874, 925));
  EXPECT_EQ(development.longest, 348U);
  EXPECT_NEAR(development.a_then_b_then_pronoun / 2000.0, 0.75, 0.005);
  const Facts test = read("test");
  EXPECT_EQ(test.samples.size(), 2000U);
  EXPECT_THAT(test.labels, ElementsAre(227, 918, 855));
  EXPECT_EQ(test.longest, 355U);
  const Facts validation = read("validation");
  EXPECT_EQ(validation.samples.size(), 454U);
  EXPECT_THAT(validation.labels, ElementsAre(62, 187, 205));
  EXPECT_EQ(validation.longest, 228U);
  const double tokens = static_cast<double>(development.tokens + test.tokens + validation.tokens);
  EXPECT_NEAR(tokens / (2000 + 2000 + 454), 97, 0.5);
}

// docs/features.md, Input: GAP's eleven columns and their preparation | `--task gap`
TEST_F(GapFiles, TheFirstRowHasTheKnownTokens) {
  const GapSample first = read("development").samples.at(0);
  EXPECT_EQ(first.ids.size(), 92U + 2);
  EXPECT_THAT(std::vector(first.ids.begin() + 1, first.ids.begin() + 6),
              ElementsAre(11199, 10093, 3877, 1011, 1011));
  EXPECT_THAT(first.positions, ElementsAre(61 + 1, 41 + 1, 44 + 1));
}

}  // namespace
}  // namespace bp::trainer
