// Stores that are made of the files of bert_train_parallel.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/places.h"
#include "tests/support/token_database.h"
#include "tests/unit/data/prepare_fixture.h"
#include "trainer/prepare/data_check.h"
#include "trainer/prepare/fingerprint.h"
#include "trainer/prepare/plan.h"
#include "trainer/prepare/survey.h"
#include "trainer/store/sample_store.h"
#include "trainer/text/tokenizer.h"

namespace bp::trainer {
namespace {

using testing::Contains;
using testing::ElementsAre;

class PrepareTokenFile : public PrepareTest {
 protected:
  // The samples have the ids 0, 1, ...; `rows` are their lists and codes: "'[2, 4, 3]', 1".
  std::string make(const std::vector<std::string>& rows, const std::string& more = "") {
    std::string statements =
        concat(kSamplesTable, kLabelsTable,
               "INSERT INTO LabelEncodings VALUES ('0', 'good'), ('1', 'bad');");
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::size_t comma = rows[i].rfind(',');
      statements += concat("INSERT INTO Samples VALUES (", i, ", ", rows[i].substr(0, comma),
                           ", '[1]'", rows[i].substr(comma), ");");
    }
    const std::string path = scratch_.path("old.sqlite");
    std::filesystem::remove(path);
    return make_token_file(path, statements + more);
  }
  PrepareOptions options(const std::vector<std::string>& rows, const std::string& more = "") {
    PrepareOptions with = PrepareTest::options(make(rows, more));
    with.vocabulary = scratch_.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n##b\nc\n##\n");
    return with;
  }
  const std::vector<std::string> rows_ = {"'[2, 4, 5, 6, 3, 0]', 1", "'[2, 5, 4, 3]', 0",
                                          "'[2, 3]', 1", "'[2, 7, 6, 3]', 0"};
  const std::string queues_ = concat(kQueueTables,
                                     "INSERT INTO TrainQueue VALUES (3), (0); INSERT INTO "
                                     "ValidateQueue VALUES (1); INSERT INTO TestQueue VALUES (2);");
};

TEST_F(PrepareTokenFile, SamplesKeepTheirTokensAndGetTextsForPeople) {
  const SampleStore store = SampleStore::open(run(options(rows_, queues_)).store);
  EXPECT_NO_THROW(store.verify());
  EXPECT_THAT(store.names(), ElementsAre("bad", "good"));
  ASSERT_EQ(store.size(Split::train), 2);
  const Sample first = store.load(Split::train, 0);
  EXPECT_THAT(first.token_ids, ElementsAre(2, 4, 5, 6, 3));
  EXPECT_EQ(first.sample_id, 1);
  EXPECT_EQ(first.text_id, 1);
  EXPECT_EQ(label_of(first), 0);
  EXPECT_EQ(store.text(1, Split::train), "ab c");
  EXPECT_EQ(store.text(4, Split::train), "## c");
  EXPECT_EQ(label_of(store.load(Split::train, 1)), 1);
  EXPECT_THAT(store.load(Split::dev, 0).token_ids, ElementsAre(2, 5, 4, 3));
  EXPECT_EQ(store.text(2, Split::dev), "b a") << "a sample may begin within a word";
  EXPECT_EQ(store.text(3, Split::test), "");
}

// <s> is 0, <pad> 1 and </s> 2.
TEST_F(PrepareTokenFile, SamplesMayBeOfAByteLevelTokenizer) {
  const std::string roberta = kSourceDir + "/tests/golden/tokenizers/roberta.json";
  std::vector<std::int32_t> ids;
  Tokenizer(Vocabulary::read(roberta)).encode("small letters", ids);
  std::string list = "0";
  for (const std::int32_t id : ids) list += concat(", ", id);
  PrepareOptions with =
      options({concat("'[", list, ", 2, 1, 1]', 1"), concat("'[", list, ", 2, 0]', 0")});
  with.vocabulary = roberta;
  const SampleStore store = SampleStore::open(run(with).store);
  EXPECT_EQ(store.pad_id(), 1);
  const Sample sample = store.load(Split::train, 0);
  EXPECT_EQ(sample.token_ids.front(), 0);
  EXPECT_EQ(sample.token_ids.back(), 2);
  EXPECT_EQ(sample.token_ids.size(), ids.size() + 2);
  EXPECT_EQ(store.text(sample.text_id, Split::train), "small letters");
  with = options({concat("'[2, ", list, "]', 1")});
  with.vocabulary = roberta;
  with.store = scratch_.path("other.sqlite");
  expect_refused(with, 65, "is not <s>, tokens and </s>, which have the ids 0 and 2 in ", "vocab");
}

TEST_F(PrepareTokenFile, ItsStoreIsAnotherFile) {
  EXPECT_EQ(run(options(rows_)).store, scratch_.path("old.store.sqlite"));
  std::filesystem::rename(scratch_.path("old.sqlite"), scratch_.path("old.db"));
  PrepareOptions with = PrepareTest::options(scratch_.path("old.db"));
  with.vocabulary = scratch_.path("vocab.txt");
  EXPECT_EQ(run(with).store, scratch_.path("old.sqlite"));
  EXPECT_TRUE(is_store(scratch_.path("old.sqlite")));
  EXPECT_TRUE(is_store(scratch_.path("old.store.sqlite")));
  EXPECT_TRUE(is_store(scratch_.path("none.sqlite")));
  EXPECT_FALSE(is_store(scratch_.path("old.db")));
  EXPECT_FALSE(is_store(make(rows_)));
}

TEST_F(PrepareTokenFile, TheQueuesDivideItUnlessSharesAreGiven) {
  PrepareOptions with = options(rows_, queues_);
  const SampleStore own = SampleStore::open(run(with).store);
  EXPECT_TRUE(is_divided_by_data(own.fingerprint()));
  EXPECT_EQ(own.load(Split::test, 0).text_id, 3);
  EXPECT_THAT(messages_, Contains(concat("its tables TrainQueue, ValidateQueue and TestQueue "
                                         "divide ",
                                         with.source, "; --split divides it anew")));
  with.divider = Divider::shares;
  with.split = {0.5, 0.5, 0};
  with.rebuild = true;
  const SampleStore anew = SampleStore::open(run(with).store);
  EXPECT_FALSE(is_divided_by_data(anew.fingerprint()));
  EXPECT_EQ(anew.size(Split::dev), 2);
  with.divider = Divider::data;
  with.stratify = true;
  expect_refused(with, 2, "--stratify divides by share, and --split data as the file says",
                 "leave");
}

TEST_F(PrepareTokenFile, QueuesThatAreIncompleteAreReported) {
  PrepareOptions with = options(rows_, concat(kQueueTables, "INSERT INTO TrainQueue VALUES (0);"));
  const std::string remark =
      concat("the split of ", with.source, " is not taken, because sample_id 1 is in no queue");
  EXPECT_EQ(SampleStore::open(run(with).store).size(Split::dev), 1);
  EXPECT_THAT(messages_, Contains(remark));
  with.divider = Divider::data;
  with.store = scratch_.path("n.sqlite");
  expect_refused(with, 2, remark, "give the shares: --split 0.8,0.1,0.1");
}

TEST_F(PrepareTokenFile, RowsThatAreLeftOutLeaveTheSplitOfTheOthers) {
  std::vector<std::string> rows = rows_;
  rows[0] = "'[2, 4, 3]', 5";
  PrepareOptions with = options(rows, queues_);
  with.task = classify({"--unknown-labels", "skip"});
  const SampleStore store = SampleStore::open(run(with).store);
  EXPECT_THAT(messages_, Contains(concat("--unknown-labels skip leaves out 1 row with other labels "
                                         "than those in ",
                                         with.source, ", the first: ", with.source,
                                         ", sample_id 0, label '5'")));
  EXPECT_EQ(store.size(Split::train), 1);
  EXPECT_EQ(store.load(Split::train, 0).text_id, 4);
  EXPECT_EQ(store.load(Split::dev, 0).text_id, 2);

  with = options(rows_, queues_);
  with.limit = 2;
  with.rebuild = true;
  const SampleStore limited = SampleStore::open(run(with).store);
  EXPECT_EQ(limited.size(Split::train), 1);
  EXPECT_EQ(limited.size(Split::dev), 1);
  EXPECT_EQ(limited.size(Split::test), 0);
}

TEST_F(PrepareTokenFile, AFileWithoutARowToTrainOnIsRefused) {
  const std::string queues =
      concat(kQueueTables, "INSERT INTO TestQueue VALUES (0), (1), (2), (3);");
  expect_refused(options(rows_, queues), 65, "has no row to train on, as it divides them itself",
                 "divide them anew: --split");
}

TEST_F(PrepareTokenFile, AFileThatGrewMeanwhileIsRefused) {
  const Plan plan = make_plan(options(rows_, queues_));
  Strata none;
  EXPECT_EQ(divide_rows(plan, KeptRows({4}, {}), none)->of(3), Split::test);
  expect_input_error(65, "old.sqlite was changed while it was being prepared", "start again",
                     [&] { (void)divide_rows(plan, KeptRows({5}, {}), none); });
}

TEST_F(PrepareTokenFile, SamplesOfAnotherVocabularyAreRefused) {
  const auto refused = [&](const std::string& row, const std::string& text) {
    const PrepareOptions with = options({"'[2, 4, 3]', 0", row});
    expect_refused(with, 65, concat(with.source, ", sample_id 1: ", text), "vocab");
    expect_input_error(65, concat(with.source, ", sample_id 1: ", text), "vocab",
                       [&] { (void)check_data(make_plan(with), [](const std::string&) {}); });
  };
  refused("'[2, 8, 3]', 0", "has the token id 8, but ");
  for (const char* row : {"'[4, 3]', 0", "'[2, 4]', 0", "'[2]', 0", "'[0, 0]', 0", "'[]', 0"}) {
    refused(row, "is not [CLS], tokens and [SEP], which have the ids 2 and 3 in ");
  }
  PrepareOptions none = options(rows_);
  none.vocabulary.clear();
  expect_refused(none, 2, concat("the vocabulary for ", none.source, " is missing"), "--vocab");
}

}  // namespace
}  // namespace bp::trainer
