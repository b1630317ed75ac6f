// A store of the format before this one.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/classify_data.h"
#include "tests/support/places.h"
#include "tests/unit/data/prepare_fixture.h"
#include "trainer/store/sample_store.h"

namespace bp::trainer {
namespace {

using testing::ElementsAre;

class OlderStore : public PrepareTest {
 protected:
  // Writes tests/golden/store_2.sql as the store r.sqlite.
  std::string write_older() {
    std::string path = scratch_.path("r.sqlite");
    SQLite::Database database(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    database.exec(read_file(kSourceDir + "/tests/golden/store_2.sql"));
    return path;
  }
};

TEST_F(OlderStore, IsReadAsOneOfTheTaskOfItsTime) {
  const SampleStore store = SampleStore::open(write_older());
  EXPECT_NO_THROW(store.verify());
  EXPECT_EQ(store.identity(), "6a35ca9ad988d3b16e0bcc7434c4b7d7");
  EXPECT_EQ(store.task(), "classify");
  EXPECT_EQ(store.schema(), label_schema());
  EXPECT_THAT(store.names(), ElementsAre("bad", "good"));
  EXPECT_EQ(store.size(Split::train), 6);
  EXPECT_EQ(store.size(Split::test), 4);
  const Sample first = store.load(Split::train, 0);
  EXPECT_THAT(first.token_ids, ElementsAre(2, 4, 5, 6, 3));
  EXPECT_EQ(label_of(first), 1);
  EXPECT_EQ(label_of(store.load(Split::test, 3)), -1);
  EXPECT_EQ(store.text(3, Split::train), "a, \"d\"");
}

TEST_F(OlderStore, IsReusedForTheSameData) {
  PrepareOptions with = options(scratch_.write(
      "r.csv", "text,label\na b c,good\nb d,bad\n\"a, \"\"d\"\"\",good\nd,bad\nc c,good\nb,bad\n"));
  with.test_source = scratch_.write("t.csv", "text,label\na,bad\nd c b a b c d a b c d a b,\n");
  with.max_length = 8;
  (void)write_older();
  const PrepareResult result = run(with);
  EXPECT_TRUE(result.reused);
  EXPECT_EQ(SampleStore::open(result.store).identity(), "6a35ca9ad988d3b16e0bcc7434c4b7d7");

  const Sample older = SampleStore::open(result.store).load(Split::test, 2);
  with.store = scratch_.path("new.sqlite");
  const SampleStore made = SampleStore::open(run(with).store);
  EXPECT_EQ(made.load(Split::test, 2).token_ids, older.token_ids);
  EXPECT_EQ(made.load(Split::test, 2).arrays, older.arrays);
}

}  // namespace
}  // namespace bp::trainer
