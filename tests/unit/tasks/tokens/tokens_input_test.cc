// What the task "tokens" makes of files: rows, names, samples, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "tests/support/scratch.h"
#include "tests/support/task_input.h"
#include "tests/unit/data/input_error_matcher.h"
#include "trainer/prepare/data_check.h"
#include "trainer/prepare/plan.h"
#include "trainer/prepare/prepare.h"
#include "trainer/prepare/source_rows.h"
#include "trainer/store/sample_store.h"
#include "trainer/tasks/label_config.h"

namespace bp::trainer {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Pair;

class TokensInput : public testing::Test {
 protected:
  PrepareOptions options(const std::string& file,
                         const std::string& content,
                         const std::vector<std::string>& arguments = {}) {
    PrepareOptions with;
    with.task = input_with("tokens", arguments);
    with.source = scratch_.write(file, content);
    with.split = {1, 0, 0};
    with.max_length = 5;
    with.vocabulary =
        scratch_.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\nc\nnew\nyork\n##s\n");
    return with;
  }
  static SampleStore store_of(const PrepareOptions& with) {
    return SampleStore::open(prepare(with, [](const std::string&) {}).store);
  }
  static DataFindings check(const PrepareOptions& with) {
    return check_data(make_plan(with), [](const std::string&) {});
  }
  static void expect_refused(const PrepareOptions& with,
                             const std::string& text,
                             const std::string& hint) {
    expect_input_error(65, text, hint, [&] { (void)store_of(with); });
  }

  Scratch scratch_;
};

using Integers = std::vector<std::int64_t>;

TEST_F(TokensInput, ASentenceIsARowAndItsWindowsAreSamples) {
  const PrepareOptions with =
      options("t.conll", "a O\nyorks B-X\n\nnew I-LOC\nyork B-LOC\nb O\nc O\n\na O\n");
  const SampleStore store = store_of(with);
  EXPECT_EQ(store.task(), "tokens");
  EXPECT_THAT(store.names(), ElementsAre("O", "B-LOC", "I-LOC", "B-X"));
  ASSERT_EQ(store.size(Split::train), 4);
  EXPECT_EQ(store.text(2, Split::train), "new york b c");
  const Sample first = store.load(Split::train, 0);
  EXPECT_THAT(first.token_ids, ElementsAre(2, 4, 8, 9, 3));
  EXPECT_EQ(first.arrays[0].integers, (Integers{-100, 0, 3, -100, -100}));
  EXPECT_EQ(first.arrays[1].integers, (Integers{1, 2}));
  const Sample third = store.load(Split::train, 2);
  EXPECT_EQ(third.text_id, 2);
  EXPECT_THAT(third.token_ids, ElementsAre(2, 6, 3));
  EXPECT_EQ(third.arrays[0].integers, (Integers{-100, 0, -100}));
}

TEST_F(TokensInput, LongSentencesCanBeCut) {
  PrepareOptions with = options("t.conll", "new I-X\nyork O\nb O\nc O\n");
  with.long_text = LongText::truncate;
  EXPECT_EQ(store_of(with).size(Split::train), 1);
}

TEST_F(TokensInput, NamesThePlaceOfASentence) {
  const Plan plan = make_plan(options("t.iob2", "-DOCSTART- O\n\na O\n\n\nb O\nc O\n\nd\n"));
  SourceRows rows(plan, plan.sources[0]);
  ASSERT_TRUE(rows.next());
  EXPECT_THAT(rows.place(), EndsWith("t.iob2, sentence 1 (line 3)"));
  ASSERT_TRUE(rows.next());
  EXPECT_THAT(rows.place(), EndsWith("t.iob2, sentence 2 (line 6)"));
  EXPECT_EQ(rows.text(), "b c");
  expect_input_error(65, "t.iob2, line 9: has 1 column", "every word", [&] { (void)rows.next(); });
}

TEST_F(TokensInput, AWordWithABlankStaysOneWord) {
  const PrepareOptions with = options("t.bio", "new york\tB-LOC\nb\tO\n");
  const Sample sample = store_of(with).load(Split::train, 0);
  EXPECT_THAT(sample.token_ids, ElementsAre(2, 7, 8, 5, 3));
  EXPECT_EQ(sample.arrays[1].integers, (Integers{1, 3}));
}

TEST_F(TokensInput, TheColumnsCanBeChosen) {
  const std::string file = "1 a x O\n2 b x B-X\n";
  PrepareOptions with = options("t.ner", file, {"--word-column", "2", "--tag-column", "4"});
  with.store = with.source + ".sqlite";  // else other columns get a store of their own
  const SampleStore store = store_of(with);
  EXPECT_EQ(store.text(1, Split::train), "a b");
  PrepareOptions other = with;
  other.task = input_with("tokens", {"--word-column", "1"});
  expect_input_error(2, "column of words is 2 there, 1 here", "--rebuild",
                     [&] { (void)store_of(other); });
}

TEST_F(TokensInput, TheEncodingOfItsFilesMatters) {
  PrepareOptions with = options("t.conll", "\xC3\xA9 B-X\na O\n");
  with.store = with.source + ".sqlite";  // else another encoding gets a store of its own
  (void)store_of(with);
  with.encoding = "latin1";
  expect_input_error(2, "encoding latin1 here", "--rebuild", [&] { (void)store_of(with); });
}

TEST_F(TokensInput, ReadsTablesAndJsonLinesToo) {
  const Sample of_table =
      store_of(options("t.tsv", "id\twords\ttags\n1\t a  b \tO B-X\n")).load(Split::train, 0);
  const Sample of_json = store_of(options("j.jsonl", "{\"w\": \"a b\", \"t\": \"O B-X\"}\n",
                                          {"--words", "w", "--tags", "t"}))
                             .load(Split::train, 0);
  EXPECT_THAT(of_table.token_ids, ElementsAre(2, 4, 5, 3));
  EXPECT_EQ(of_table.token_ids, of_json.token_ids);
  EXPECT_EQ(of_table.arrays, of_json.arrays);
  const Sample of_arrays =
      store_of(options("a.jsonl", "{\"words\": [\"a\", \"b\"], \"tags\": [\"O\", \"B-X\"]}\n"))
          .load(Split::train, 0);
  EXPECT_EQ(of_table.token_ids, of_arrays.token_ids);
  EXPECT_EQ(of_table.arrays, of_arrays.arrays);
}

// docs/acceptance.md, Tasks: A file that has no tagged sentences is refused.
TEST_F(TokensInput, RefusesWhatIsNoTaggedSentence) {
  const std::string head = "words,tags\na b,O B-X\n";
  const auto table = [&](const std::string& row) { return options("t.csv", head + row); };
  expect_refused(table("a b,O\n"), "t.csv, row 2 (line 3): has 2 words and 1 tags",
                 "each word needs one tag");
  expect_refused(table(" ,O\n"), "row 2 (line 3): has no words", "remove the row");
  expect_refused(table("a,\n"), "row 2 (line 3): has no tags", "tag the sentence");
  expect_refused(table("a,NN\n"), "row 2 (line 3): 'NN' is not a tag", "such as B-PER");
  PrepareOptions with = table("");
  with.dev_source = scratch_.write("d.conll", "a O\n\nb B-Y\n");
  expect_refused(with, "d.conll, sentence 2 (line 3): tag 'B-Y' is not among those in ",
                 "did you mean 'B-X'?");
}

TEST_F(TokensInput, OnlySentencesToTestMayLackTags) {
  PrepareOptions with = options("t.conll", "a B-X\n");
  with.test_source = scratch_.write("test.conll", "a\nb\n");
  const SampleStore store = store_of(with);
  const Sample sample = store.load(Split::test, 0);
  EXPECT_EQ(sample.arrays[0].integers, (Integers{-100, -100, -100, -100}));
  EXPECT_EQ(sample.arrays[1].integers, (Integers{1, 2}));
}

TEST_F(TokensInput, AFileToScoreHasTheModelsTags) {
  PrepareOptions with = options("t.conll", "a B-Y\nb O\n");
  with.scored = true;
  const auto task = input_with("tokens");
  EncoderSpec model;
  model.head = label_keys({.labels = {"B-Y", "O"}}, model, "ForTokenClassification");
  EXPECT_THAT(task->score_by(model), ElementsAre("B-Y", "O"));
  with.task = task;
  const SampleStore store = store_of(with);
  EXPECT_THAT(store.names(), ElementsAre("B-Y", "O"));
  EXPECT_EQ(store.load(Split::test, 0).arrays[0].integers, (Integers{-100, 0, 1, -100}));
  with.source = scratch_.write("u.conll", "a B-Z\n");
  expect_refused(with, "tag 'B-Z' is not among those of the model: B-Y, O", "did you mean");
}

TEST_F(TokensInput, CheckCountsWordsAndEntities) {
  const PrepareOptions with =
      options("t.conll", "a B-X\nb I-X\nc O\n\na I-X\n\na B-Y\nb I-X\n\nb O\n");
  const DataFindings found = check(with);
  EXPECT_THAT(found.files[0].task,
              ElementsAre(Pair("  words", "7"), Pair("  without tags", "0"),
                          Pair("  entity without B-", HasSubstr("2, the first: " + with.source +
                                                                ", sentence 2 (line 5)"))));
  EXPECT_THAT(found.task, ElementsAre(Pair("tags", "4"), Pair("entities", "4"),
                                      Pair("  X", "3, 75.0 %"), Pair("  Y", "1, 25.0 %")));
  EXPECT_EQ(found.obstacle.what, "");
}

TEST_F(TokensInput, CheckNamesWhatKeepsFromTraining) {
  const std::string head = "words,tags\na b,O B-X\n";
  const auto obstacle = [&](const std::string& rows, const std::string& dev = "") {
    PrepareOptions with = options("t.csv", head + rows);
    if (!dev.empty()) with.dev_source = scratch_.write("d.csv", "words,tags\n" + dev);
    return check(with).obstacle.what;
  };
  EXPECT_THAT(obstacle("a b,O\n"), HasSubstr("1 sentence with another number of tags than of "
                                             "words, the first: "));
  EXPECT_THAT(obstacle(",O\n"), HasSubstr("1 row without words, the first: "));
  EXPECT_THAT(obstacle("a,NN\nb,VB\n"), HasSubstr("2 sentences with a tag that is none, "));
  EXPECT_THAT(obstacle("a,\n"), HasSubstr("1 sentence without tags, the first: "));
  EXPECT_THAT(obstacle("", "a b,O B-Z\n"), HasSubstr("1 sentence with a tag that "));
  EXPECT_EQ(obstacle("", "a b,O B-X\n"), "");
  EXPECT_EQ(check(options("o.conll", "a O\n")).obstacle.what, "all words have the tag O");
}

}  // namespace
}  // namespace bp::trainer
