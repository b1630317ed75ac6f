#include "trainer/prepare/prepare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "base/text.h"
#include "tests/support/classify_data.h"
#include "tests/support/compressed.h"
#include "tests/unit/data/prepare_fixture.h"
#include "trainer/prepare/plan.h"
#include "trainer/store/sample_store.h"

namespace bp::trainer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr Split kAll[] = {Split::train, Split::dev, Split::test};

// The split of each text_id.
std::map<std::int64_t, Split> splits_of(const SampleStore& store) {
  std::map<std::int64_t, Split> splits;
  for (const Split split : kAll) {
    for (std::int64_t i = 0; i < store.size(split); ++i) {
      const auto [place, is_new] = splits.emplace(store.load(split, i).text_id, split);
      EXPECT_TRUE(is_new || place->second == split)
          << "the samples of one text must be in one split";
    }
  }
  return splits;
}

TEST_F(PrepareTest, MakesAStoreBesideTheSource) {
  const PrepareResult result = run(options(write_rows("reviews.v2.csv", 10)));
  EXPECT_EQ(result.store, scratch_.path("reviews.v2.sqlite"));
  EXPECT_FALSE(result.reused);
  EXPECT_THAT(messages_.back(), HasSubstr("prepared 10 rows in "));
  const SampleStore store = SampleStore::open(result.store);
  EXPECT_EQ(store.size(Split::train), 8);
  EXPECT_EQ(store.size(Split::dev), 1);
  EXPECT_EQ(store.size(Split::test), 1);
  EXPECT_THAT(store.names(), ElementsAre("bad", "good"));
  const Sample sample = store.load(Split::train, 0);
  EXPECT_THAT(sample.token_ids, ElementsAre(2, 4, 5, 6, 3));
  EXPECT_EQ(label_of(sample), sample.text_id % 2 == 1 ? 1 : 0);
  EXPECT_EQ(store.text(sample.text_id, Split::train), "a b c");
  EXPECT_THAT(scratch_.names(), ElementsAre("reviews.v2.csv", "reviews.v2.sqlite", "vocab.txt"));
}

TEST_F(PrepareTest, AStoreIsKnownByItsSuffix) {
  EXPECT_TRUE(is_store(run(options(write_rows("r.csv", 10))).store));
  EXPECT_FALSE(is_store("reviews.csv"));
  EXPECT_FALSE(is_store("reviews.sqlite.csv"));
}

// docs/acceptance.md, Data: Files that gzip or zstd has compressed are read. A damaged or truncated
// one is refused.
TEST_F(PrepareTest, ACompressedFileGivesTheStoreOfItsContent) {
  const std::string plain = write_rows("plain.csv", 50);
  const std::string identity = SampleStore::open(run(options(plain)).store).identity();
  const std::string content = read_file(plain);
  const std::string gzip = scratch_.write("one.csv.gz", gzip_of(content));
  const std::string zstd = scratch_.write("two.csv.zst", zstd_of(content));
  for (const std::string& path : {gzip, zstd}) {
    const std::string store = run(options(path)).store;
    EXPECT_EQ(store, path.substr(0, path.find(".csv")) + ".sqlite");
    EXPECT_EQ(SampleStore::open(store).identity(), identity);
  }
  EXPECT_TRUE(run(options(gzip)).reused);
}

// docs/features.md, Splits and batches: A split by shares, seeded, stored, and stratified if asked
// | `--split`, `--stratify`, `--seed`
TEST_F(PrepareTest, EveryRowIsInOneSplitAndTheSplitDependsOnSeedAndRowAlone) {
  PrepareOptions with = options(write_rows("r.csv", 500));
  with.split = {0.5, 0.3, 0.2};
  const std::map<std::int64_t, Split> splits = splits_of(SampleStore::open(run(with).store));
  EXPECT_EQ(splits.size(), 500U);
  std::map<Split, int> sizes;
  for (const auto& [text, split] : splits) {
    ++sizes[split];
  }
  EXPECT_THAT(sizes, ElementsAre(testing::Pair(Split::train, 250), testing::Pair(Split::dev, 150),
                                 testing::Pair(Split::test, 100)));
  with.rebuild = true;
  with.max_length = 3;  // every text becomes several samples
  EXPECT_EQ(splits_of(SampleStore::open(run(with).store)), splits);
  with.seed = 2;
  EXPECT_NE(splits_of(SampleStore::open(run(with).store)), splits);
}

// docs/features.md, Input: Long texts folded, each part with the label and a mask of its own |
// `--long-text fold`
// docs/features.md, Input: Long texts truncated | `--long-text truncate`, `--max-length`
TEST_F(PrepareTest, FoldsLongTextsOrCutsThem) {
  PrepareOptions with = options(scratch_.write("r.csv", "text,label\na b c d a b c,1\n,0\n"));
  with.split = {1, 0, 0};
  with.max_length = 5;
  const SampleStore folded = SampleStore::open(run(with).store);
  ASSERT_EQ(folded.size(Split::train), 4);
  EXPECT_THAT(folded.load(Split::train, 0).token_ids, ElementsAre(2, 4, 5, 6, 3));
  EXPECT_THAT(folded.load(Split::train, 1).token_ids, ElementsAre(2, 7, 4, 5, 3));
  EXPECT_THAT(folded.load(Split::train, 2).token_ids, ElementsAre(2, 6, 3));
  EXPECT_THAT(folded.load(Split::train, 3).token_ids, ElementsAre(2, 3))
      << "an empty text has one sample without words";
  for (std::int64_t i = 0; i < 4; ++i) {
    const Sample sample = folded.load(Split::train, i);
    EXPECT_EQ(sample.sample_id, i + 1);
    EXPECT_EQ(sample.text_id, i < 3 ? 1 : 2);
    EXPECT_EQ(label_of(sample), i < 3 ? 1 : 0);
  }
  with.long_text = LongText::truncate;
  with.rebuild = true;
  const SampleStore cut = SampleStore::open(run(with).store);
  ASSERT_EQ(cut.size(Split::train), 2);
  EXPECT_THAT(cut.load(Split::train, 0).token_ids, ElementsAre(2, 4, 5, 6, 3));
}

TEST_F(PrepareTest, TakesDevAndTestFromFilesAndNumbersLabelsByValue) {
  PrepareOptions with = options(scratch_.write("train", "a\t10\nb\t9\nc\t10\n"));
  with.task = classify({"--text", "1", "--label", "2"});
  with.dev_source = scratch_.write("dev", "a\t9\n");
  with.test_source = scratch_.write("test", "d\t10\nb\t\n");
  const SampleStore store = SampleStore::open(run(with).store);
  EXPECT_THAT(store.names(), ElementsAre("9", "10"));
  EXPECT_EQ(store.size(Split::train), 3);
  EXPECT_EQ(store.size(Split::dev), 1);
  ASSERT_EQ(store.size(Split::test), 2);
  EXPECT_EQ(label_of(store.load(Split::dev, 0)), 0);
  EXPECT_EQ(store.load(Split::dev, 0).text_id, 1);
  EXPECT_EQ(label_of(store.load(Split::test, 0)), 1);
  EXPECT_EQ(label_of(store.load(Split::test, 1)), -1) << "a test file may leave labels empty";
  EXPECT_EQ(store.text(1, Split::test), "d");
}

// docs/features.md, Input: Samples reused by later runs, or prepared without training | `bert_train
// prep`
TEST_F(PrepareTest, ReusesAStoreThatMatches) {
  PrepareOptions with = options(write_rows("r.csv", 10));
  const PrepareResult first = run(with);
  const std::string bytes = read_file(first.store);
  const PrepareResult second = run(with);
  EXPECT_TRUE(second.reused);
  EXPECT_THAT(messages_, ElementsAre(HasSubstr("using the store ")));
  EXPECT_EQ(read_file(first.store), bytes);
}

TEST_F(PrepareTest, AStoreOfOtherOptionsLiesBesideTheOneOfTheUsualName) {
  const PrepareOptions usual = options(write_rows("r.csv", 10));
  EXPECT_EQ(run(usual).store, scratch_.path("r.sqlite"));
  PrepareOptions other = usual;
  other.seed = 7;
  messages_.clear();
  const PrepareResult made = run(other);
  EXPECT_FALSE(made.reused);
  EXPECT_THAT(made.store, testing::MatchesRegex(scratch_.path("r-[0-9a-f]{8}.sqlite")));
  EXPECT_THAT(messages_, Contains(concat("the store ", scratch_.path("r.sqlite"),
                                         " was made differently: seed "
                                         "is 1 there, 7 here; this one is ",
                                         made.store)));
  PrepareOptions third = other;
  third.max_length = 64;
  const std::string store_of_third = run(third).store;
  EXPECT_NE(store_of_third, made.store);
  for (const auto& [with, store] : {std::pair{usual, scratch_.path("r.sqlite")},
                                    {other, made.store},
                                    {third, store_of_third}}) {
    const PrepareResult again = run(with);
    EXPECT_TRUE(again.reused);
    EXPECT_EQ(again.store, store);
  }
  // Its name does not depend on the content, so a file that has changed is noticed.
  write_rows("r.csv", 11);
  expect_refused(other, 65, concat("since the store ", made.store, " was made"), "--rebuild");
  other.rebuild = true;
  EXPECT_EQ(run(other).store, made.store);
  // Without the usual one, each option set still finds its own.
  std::filesystem::remove(scratch_.path("r.sqlite"));
  other.rebuild = false;
  EXPECT_TRUE(run(other).reused);
  EXPECT_EQ(run(usual).store, scratch_.path("r.sqlite"));
}

TEST_F(PrepareTest, RefusesAStoreOfOtherSettingsAndNamesTheDifference) {
  PrepareOptions with = options(write_rows("r.csv", 10));
  with.store = scratch_.path("r.sqlite");
  run(with);
  with.max_length = 64;
  with.seed = 7;
  expect_refused(
      with, 2,
      "r.sqlite was made differently: max length is 128 there, 64 here; seed is 1 there, 7 here",
      "--rebuild");
  with.dev_source = write_rows("d.csv", 5);
  expect_refused(with, 2,
                 "r.sqlite was made differently: --dev is given here, not there; max length is 128 "
                 "there, 64 here",
                 "--rebuild");
  with.dev_source.clear();
  with = options(write_rows("r.csv", 11));
  expect_refused(with, 65, concat("the data file ", with.source, " has changed (116 bytes, XXH3 "),
                 "--rebuild");
  expect_refused(with, 65, " now) since the store ", "--rebuild");
  with.rebuild = true;
  EXPECT_FALSE(run(with).reused);
  EXPECT_TRUE(run(options(with.source)).reused);
}

TEST_F(PrepareTest, NeverOverwritesAFileThatIsNoStore) {
  PrepareOptions with = options(write_rows("r.csv", 10));
  with.store = scratch_.write("thesis.sqlite", "dear to someone");
  with.rebuild = true;
  expect_refused(with, 65, "thesis.sqlite is not an SQLite file", "--store");
  with.store = with.source;
  expect_refused(with, 2, "would replace its source",
                 "leave it out, or name another file, such as");
}

// docs/features.md, Input: CSV with broken line ends | It is read as it is. A quote that does not
// end is named with its line.
TEST_F(PrepareTest, RefusesBadContentAndLeavesNothingBehind) {
  const auto csv = [&](const std::string& content) {
    return options(scratch_.write("r.csv", content));
  };
  expect_refused(options(scratch_.path("none.csv")), 66, "none.csv: No such file",
                 "check the name");
  expect_refused(csv(""), 65, "r.csv is empty", "");
  expect_refused(csv("text,label\n"), 65, "r.csv has a header but no rows", "--header");
  expect_refused(csv("words,label\na,1\n"), 2, "no column 'text': it has words, label", "");
  expect_refused(csv("text,label\na,1\n\"b,2\n"), 65,
                 "r.csv, row 2 (line 3): a quote is opened and never closed", "twice");
  expect_refused(csv("text,label\na,1\nb\xFF,2\n"), 65,
                 "r.csv, row 2 (line 3): is not UTF-8: byte 0xFF at offset 16",
                 "--encoding windows-1252");
  expect_refused(csv("text,label\na,1\nb,\n"), 65, "r.csv, row 2 (line 3): has no label",
                 "column 2");
  PrepareOptions dev = csv("text,label\na,good\nb,bad\n");
  dev.dev_source = scratch_.write("dev.csv", "text,label\na,good\nb,goood\n");
  expect_refused(dev, 65, "dev.csv, row 2 (line 3): label 'goood' is not among those in",
                 "did you mean 'good'?");
  std::string many = "text,label\n";
  for (int i = 0; i < 1200; ++i) {
    many += concat("a,label ", i, "\n");
  }
  expect_refused(csv(many), 65, "1200 different labels in 1200 rows", "column 2 is not a label");
}

TEST_F(PrepareTest, RefusesBadOptions) {
  PrepareOptions with = options(write_rows("r.csv", 10));
  with.max_length = 2;
  expect_refused(with, 2, "max length 2", "128");
  with = options(with.source);
  with.split = {0.8, 0.1, 0.2};
  expect_refused(with, 2, "split 0.8,0.1,0.2", "sum to 1");
  with = options(with.source);
  with.vocabulary = scratch_.path("none.txt");
  expect_refused(with, 66, "none.txt", "");
  with.vocabulary = scratch_.write("bad.txt", "a\nb\n");
  expect_refused(with, 65, "bad.txt has no [PAD]", "vocab.txt");
  with.vocabulary.clear();
  with.vocabulary_size = 5;
  expect_refused(with, 2, "a vocabulary of 5 tokens is too small", "8000 is the default");
}

TEST_F(PrepareTest, TrainsAVocabularyOnTheTrainTextsWhenNoneIsGiven) {
  PrepareOptions with = options(write_rows("r.csv", 50, "banana bandana"));
  with.vocabulary = "";
  with.vocabulary_size = 15;
  const SampleStore store = SampleStore::open(run(with).store);
  EXPECT_EQ(store.vocabulary().size(), 15U);
  EXPECT_THAT(store.vocabulary(), testing::Contains("ban"));
  const std::string identity = store.identity();
  with.rebuild = true;
  run(with);
  EXPECT_EQ(SampleStore::open(scratch_.path("r.sqlite")).identity(), identity);
}

// docs/features.md, Input: A binary file of samples, labels and splits, with one writer | the
// store, an SQLite file: `--store`
TEST_F(PrepareTest, OneOfManyProcessesPreparesAndTheOthersUseItsStore) {
  const PrepareOptions with = options(write_rows("r.csv", 20000));
  std::vector<pid_t> children;
  for (int i = 0; i < 5; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      const PrepareResult result = run(with);
      ::_exit(SampleStore::open(result.store).size(Split::train) == 16000 ? (result.reused ? 1 : 0)
                                                                          : 2);
    }
    children.push_back(child);
  }
  std::map<int, int> ends;
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ++ends[status];
  }
  EXPECT_THAT(ends, ElementsAre(testing::Pair(0, 1), testing::Pair(W_EXITCODE(1, 0), 4)));
  EXPECT_THAT(scratch_.names(), ElementsAre("r.csv", "r.sqlite", "vocab.txt"));
}

TEST_F(PrepareTest, RebuildReplacesAStoreThatCannotBeRead) {
  PrepareOptions with = options(write_rows("r.csv", 10));
  const std::string good = read_file(run(with).store);
  std::string later = good;
  later[63] = 9;
  for (const std::string& bad : {std::string(), later, good.substr(0, good.size() / 2)}) {
    scratch_.write("r.sqlite", bad);
    with.rebuild = false;
    expect_refused(with, 65, "r.sqlite", "--rebuild rebuilds it");
    with.rebuild = true;
    EXPECT_FALSE(run(with).reused);
    EXPECT_EQ(read_file(scratch_.path("r.sqlite")) == good, true);
  }
}

TEST_F(PrepareTest, ASourceThatChangesMeanwhileIsRefused) {
  const PrepareOptions with = options(write_rows("r.csv", 10));
  const auto change = [&](const std::string& line) {
    if (line.starts_with("reading ")) {
      std::ofstream(with.source, std::ios::app) << "one more,good\n";
    }
  };
  expect_input_error(65, "r.csv was changed while it was being prepared", "start again",
                     [&] { (void)prepare(with, change); });
  EXPECT_THAT(scratch_.names(), ElementsAre("r.csv", "vocab.txt"));
}

TEST_F(PrepareTest, SaysWhereItCannotWrite) {
  PrepareOptions with = options(write_rows("r.csv", 10));
  with.store = "/no/such/folder/r.sqlite";
  expect_refused(with, 70, "cannot write /no/such/folder/r.sqlite.lease: No such file or directory",
                 "where you may write: --store r.sqlite");
}

}  // namespace
}  // namespace bp::trainer
