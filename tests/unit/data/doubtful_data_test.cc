// Data that can be prepared but is probably not what the user wants: the warnings, and the options
// that help.
// docs/acceptance.md, Data: Doubtful data are remarked on: labels with blanks or decimals, equal
// texts in train and test.
#include <string>
#include <vector>

#include "tests/support/classify_data.h"
#include "tests/unit/data/prepare_fixture.h"
#include "trainer/prepare/row_set.h"
#include "trainer/store/sample_store.h"

namespace bp::trainer {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class DoubtfulData : public PrepareTest {
 protected:
  PrepareOptions of(const std::string& content) {
    return options(scratch_.write("r.csv", content));
  }
};

TEST_F(DoubtfulData, LabelsThatDifferByBlanks) {
  std::string content = "text,label\n";
  for (const char* label : {"pos", " pos", "neg", "neg ", "so so"}) {
    content += concat("a,", label, "\nb,", label, "\n");
  }
  PrepareOptions with = of(content);
  const PrepareResult apart = run(with);
  EXPECT_THAT(messages_,
              Contains("the labels 'neg' and 'neg ' and another pair differ only by blanks "
                       "around them, and are different classes; --trim-labels --rebuild "
                       "makes them one"));
  EXPECT_EQ(SampleStore::open(apart.store).names().size(), 5U);

  with.task = classify({"--trim-labels"});
  with.store = apart.store;
  expect_refused(with, 2, "blanks around labels is not given there, removed here", "--rebuild");
  with.rebuild = true;
  EXPECT_THAT(SampleStore::open(run(with).store).names(), ElementsAre("neg", "pos", "so so"));
  EXPECT_THAT(messages_, Not(Contains(HasSubstr("blanks"))));
}

TEST_F(DoubtfulData, LabelsThatDifferByCaseOrAsNumbersDo) {
  std::string content = "text,label\n";
  for (const char* label : {"True", "TRUE", "true", "false", "False"}) {
    content += concat("a,", label, "\nb,", label, "\n");
  }
  (void)run(of(content));
  EXPECT_THAT(messages_,
              Contains("the labels 'TRUE' and 'True' and 2 other pairs differ only by upper and "
                       "lower case, and are different classes; --label-map FILE --rebuild makes "
                       "them one"));
  messages_.clear();
  PrepareOptions numbers = of("text,label\na,1\nb,1.0\nc,0\nd,0.0\n");
  numbers.rebuild = true;
  (void)run(numbers);
  EXPECT_THAT(messages_,
              Contains("the labels '0' and '0.0' and another pair are the same number, and are "
                       "different classes; --round-labels --rebuild makes them one"));
  numbers.task = classify({"--round-labels"});
  EXPECT_THAT(SampleStore::open(run(numbers).store).names(), ElementsAre("0", "1"));
  messages_.clear();
  PrepareOptions plain = of("text,label\na,1\nb,2\nc,good\nd,bad\n");
  plain.rebuild = true;
  (void)run(plain);
  EXPECT_THAT(messages_, Not(Contains(HasSubstr("different classes"))));
}

TEST_F(DoubtfulData, ALabelThatStandsForNone) {
  for (const char* label : {"nan", "N/A", "null"}) {
    messages_.clear();
    PrepareOptions with = of(concat("text,label\na,yes\nb,no\nc,", label, "\n"));
    with.rebuild = true;
    (void)run(with);
    EXPECT_THAT(messages_, Contains(HasSubstr(concat(
                               "the label '", label,
                               "' is a class by itself; if it means that a row has none, name the "
                               "classes: --labels A,B --unknown-labels skip --rebuild leaves"))));
    with.task = classify({"--labels", "no,yes", "--unknown-labels", "skip"});
    EXPECT_THAT(SampleStore::open(run(with).store).names(), ElementsAre("no", "yes"));
  }
}

TEST_F(DoubtfulData, AHeaderWithALongNameIsTakenForARow) {
  const std::string rows = "a,good\nb,bad\nc,good\nd,bad\n";
  const std::string name(70, 'x');
  const std::string remark =
      "only row 1 has the label 'Urteil'; if the first line names the columns, --header yes "
      "--rebuild leaves it out";
  PrepareOptions with = of(concat(name, ",Urteil\n", rows));
  with.task = classify({"--text", "1", "--label", "2"});
  with.rebuild = true;
  (void)run(with);
  EXPECT_THAT(messages_, Contains(remark));
  messages_.clear();
  with.header = HeaderMode::no;
  (void)run(with);
  EXPECT_THAT(messages_, Not(Contains(HasSubstr("only row 1"))));
  with = of(concat("e,good\n", rows, "f,fair\n"));
  with.task = classify({"--text", "1", "--label", "2"});
  with.rebuild = true;
  (void)run(with);
  EXPECT_THAT(messages_, Not(Contains(HasSubstr("only row 1"))));
}

TEST_F(DoubtfulData, NumbersWithDecimalsAsLabels) {
  std::string content = "text,label\n";
  for (int row = 0; row < 200; ++row) content += concat("a b,", row / 50, ".", row % 50 + 10, "\n");
  PrepareOptions with = of(content);
  (void)run(with);
  EXPECT_THAT(messages_,
              Contains(HasSubstr(
                  "r.csv has 200 different numbers in 200 rows, and each is a class by itself; "
                  "--round-labels --rebuild rounds them, --label names another column")));
  with.task = classify({"--round-labels"});
  with.rebuild = true;
  EXPECT_THAT(SampleStore::open(run(with).store).names(), ElementsAre("0", "1", "2", "3", "4"));
  EXPECT_THAT(messages_, Not(Contains(HasSubstr("different numbers"))));
}

TEST_F(DoubtfulData, NumbersWithDecimalsThatOccurSeveralTimes) {
  std::string content = "text,label\n";
  for (int row = 0; row < 200; ++row) content += concat("a b,", row % 25, ".5\n");
  (void)run(of(content));
  EXPECT_THAT(messages_, Contains(HasSubstr("has 25 different numbers in 200 rows, and each is a "
                                            "class by itself; --round-labels --rebuild rounds "
                                            "them, --label names another column, --task regress "
                                            "--target learns numbers")));
}

TEST_F(DoubtfulData, ALabelThatIsNoNumberCannotBeRounded) {
  PrepareOptions with = of("text,label\na,1.5\nb,good\n");
  with.task = classify({"--round-labels"});
  expect_refused(with, 65, "row 2 (line 3): label 'good' is not a number", "--round-labels is for");
}

TEST_F(DoubtfulData, AsManyDifferentLabelsAsRows) {
  std::string content = "text,label\n";
  for (int row = 0; row < 30; ++row) content += concat("a,name ", row, "\n");
  (void)run(of(content));
  EXPECT_THAT(messages_, Contains(HasSubstr("has 30 different labels in 30 rows")));
}

TEST_F(DoubtfulData, EqualTextsInTrainAndTest) {
  std::string content = "text,label\n";
  for (int row = 0; row < 200; ++row) content += concat(row % 100, " a,", row % 2, "\n");
  PrepareOptions with = of(content);
  with.split = {0.5, 0, 0.5};
  (void)run(with);
  std::int64_t leaked = 0;
  {
    const SampleStore store = SampleStore::open(scratch_.path("r.sqlite"));
    for (std::int64_t i = 0; i < store.size(Split::test); ++i) {
      const std::int64_t id = store.load(Split::test, i).text_id;
      for (std::int64_t k = 0; k < store.size(Split::train); ++k) {
        leaked += store.load(Split::train, k).text_id % 100 == id % 100 ? 1 : 0;
      }
    }
  }
  ASSERT_GT(leaked, 0);
  EXPECT_THAT(messages_,
              Contains(concat("0 of dev's texts and ", leaked,
                              " of test's are in train too, which makes scores too good; "
                              "--dedupe --rebuild keeps each text once")));
  with.dedupe = true;
  with.rebuild = true;
  (void)run(with);
  EXPECT_THAT(messages_, Contains(HasSubstr("--dedupe leaves out 100 of 200 rows")));
  const SampleStore store = SampleStore::open(scratch_.path("r.sqlite"));
  EXPECT_EQ(store.size(Split::train), 50);
  EXPECT_EQ(store.size(Split::test), 50);
  for (std::int64_t i = 0; i < 50; ++i) {
    EXPECT_LE(store.load(Split::test, i).text_id, 100)
        << "--dedupe must keep the first row of each text";
  }
}

TEST_F(DoubtfulData, ARunIsOfferedAnotherStoreAndAnotherRun) {
  std::string content = "text,label\n";
  for (int row = 0; row < 200; ++row) content += concat(row % 100, " a,", row % 2, "\n");
  PrepareOptions with = of(content);
  with.run = scratch_.path("run");
  (void)run(with);
  const std::string another_run =
      concat(" --run ", scratch_.path("run-2"), " keeps each text once");
  EXPECT_THAT(messages_, Contains(HasSubstr("too good; --dedupe" + another_run)))
      << "the other store needs no name";
  // A store with a name needs one.
  with.store = scratch_.path("named.sqlite");
  const std::string store = scratch_.path("named-3.sqlite");
  (void)scratch_.write("named-2.sqlite", "");
  messages_.clear();
  (void)run(with);
  EXPECT_THAT(messages_,
              Contains(HasSubstr(concat("too good; --dedupe --store ", store, another_run))));
  messages_.clear();
  with.dedupe = true;
  with.store = store;
  with.run = scratch_.path("run-2");
  (void)run(with);
  EXPECT_THAT(messages_, Contains(HasSubstr("--dedupe leaves out 100 of 200 rows")));
}

TEST_F(DoubtfulData, ATextOfTheTestFileIsNotTrainedOn) {
  PrepareOptions with = of("text,label\na,0\nb,1\na,0\nc,1\n");
  with.test_source = scratch_.write("t.csv", "text,label\nd,0\nb,1\nd,1\n");
  with.dedupe = true;
  const SampleStore store = SampleStore::open(run(with).store);
  ASSERT_EQ(store.size(Split::train), 2);
  EXPECT_EQ(store.text(store.load(Split::train, 0).text_id, Split::train), "a");
  EXPECT_EQ(store.load(Split::train, 1).text_id, 4) << "the id must be the row in the file";
  ASSERT_EQ(store.size(Split::test), 2);
  EXPECT_EQ(store.load(Split::test, 1).text_id, 2);
  with.rebuild = true;
  with.test_source = scratch_.write("t.csv", "text,label\na,0\nb,1\nc,1\n");
  expect_refused(with, 65, "--dedupe leaves no row of", "leave out --dedupe");
}

TEST(KeptRows, HaveAnIndexWithinTheirSource) {
  const KeptRows rows({3, 2}, {1, 3});
  EXPECT_THAT(rows.counts(), ElementsAre(2, 1));
  EXPECT_EQ(rows.place(0, 1), 1);
  EXPECT_EQ(rows.place(0, 2), 0);
  EXPECT_EQ(rows.place(0, 3), 2);
  EXPECT_EQ(rows.place(1, 1), 0);
  EXPECT_EQ(rows.place(1, 2), 1);
}

// Rows after the limit are not even looked at.
TEST_F(DoubtfulData, OnlyTheFirstRowsWithALimit) {
  std::string content = "text,label\n";
  for (int row = 0; row < 10; ++row) content += concat("a b,", row % 2, "\n");
  PrepareOptions with = of(content + "no label,\n");
  with.test_source = scratch_.write("t.csv", "text,label\na,1\nb,0\nc,2\n");
  with.limit = 2;
  const SampleStore store = SampleStore::open(run(with).store);
  EXPECT_EQ(store.size(Split::train), 2);
  EXPECT_EQ(store.size(Split::test), 2);
  with.test_source = "";
  with.limit = 4;
  with.store = scratch_.path("other.sqlite");
  EXPECT_EQ(SampleStore::open(run(with).store).size(Split::train), 2);
  with.limit = 5;
  expect_refused(with, 2, "rows of each file is the first 4 there, the first 5 here", "--rebuild");
  with.limit = 0;
  with.rebuild = true;
  expect_refused(with, 65, "row 11 (line 12): has no label", "remove the row");
}

}  // namespace
}  // namespace bp::trainer
