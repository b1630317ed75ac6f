// Rows of several files: --also, and folders.
// docs/acceptance.md, Data: Rows come from several files or from a folder.
#include <filesystem>
#include <string>
#include <vector>

#include "tests/unit/data/prepare_fixture.h"
#include "trainer/prepare/data_check.h"
#include "trainer/prepare/source_rows.h"
#include "trainer/store/sample_store.h"

namespace bp::trainer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class SeveralFiles : public PrepareTest {
 protected:
  PrepareOptions of(const std::string& source, const std::vector<std::string>& more) {
    PrepareOptions with = options(source);
    with.more_sources = more;
    with.split = {1, 0, 0};
    return with;
  }
  // The rows as "ROW:TEXT:LABEL".
  static std::vector<std::string> rows(const SampleStore& store, Split split = Split::train) {
    std::vector<std::string> all;
    for (std::int64_t i = 0; i < store.size(split); ++i) {
      const Sample sample = store.load(split, i);
      all.push_back(concat(sample.text_id, ":", store.text(sample.text_id, split), ":",
                           store.names()[static_cast<std::size_t>(label_of(sample))]));
    }
    return all;
  }
  std::string folder() {
    std::filesystem::create_directory(scratch_.path("f"));
    (void)scratch_.write("f/b.csv", "text,label\nc,good\n");
    (void)scratch_.write(
        "f/a.jsonl", "{\"label\":\"bad\",\"text\":\"a\"}\n{\"text\":\"b\",\"label\":\"good\"}\n");
    (void)scratch_.write("f/.hidden", "x");
    return scratch_.path("f");
  }
};

TEST_F(SeveralFiles, RowsCountOnFromFileToFile) {
  const std::string a = scratch_.write("a.csv", "text,label\na,good\nb,bad\n");
  const std::string b = scratch_.write("b.tsv", "label\ttext\nbad\tc\n");
  const std::string c = scratch_.write("c.csv", "text,label\nd,good\n");
  const SampleStore store = SampleStore::open(run(of(a, {b, c})).store);
  EXPECT_THAT(rows(store), ElementsAre("1:a:good", "2:b:bad", "3:c:bad", "4:d:good"));
  EXPECT_THAT(messages_.front(), HasSubstr("a.csv and 2 more files"));
  EXPECT_NO_THROW(store.verify());
}

TEST_F(SeveralFiles, AFolderStandsForItsFilesByName) {
  const SampleStore store = SampleStore::open(run(of(folder() + "/", {})).store);
  EXPECT_TRUE(std::filesystem::exists(scratch_.path("f.sqlite")));
  EXPECT_THAT(rows(store), ElementsAre("1:a:bad", "2:b:good", "3:c:good"));
  PrepareOptions with = of(scratch_.write("t.csv", "text,label\na,good\nb,bad\n"), {});
  with.test_source = folder();
  EXPECT_THAT(rows(SampleStore::open(run(with).store), Split::test),
              ElementsAre("1:a:bad", "2:b:good", "3:c:good"));
}

TEST_F(SeveralFiles, AnErrorNamesTheFileAndItsLine) {
  const std::string a = scratch_.write("a.csv", "text,label\na,good\nb,bad\n");
  const std::string b = scratch_.write("b.csv", "label,text\ngood,c\n,d\n");
  expect_refused(of(a, {b}), 65, "b.csv, row 2 (line 3): has no label", "column 1 is empty there");
  const Plan plan = make_plan(of(a, {b}));
  EXPECT_THAT(place_of(plan, plan.sources[0], 4), HasSubstr("b.csv, row 2 (line 3)"));
  EXPECT_THAT(check_data(plan, [](const std::string&) {}).obstacle.what,
              HasSubstr("b.csv, row 2 (line 3)"));
  const std::string other = scratch_.write("c.csv", "txt,label\nc,good\n");
  expect_refused(of(a, {other}), 2, "c.csv", "did you mean 'txt'?");
}

TEST_F(SeveralFiles, WhatIsNoDataIsRefusedByItsName) {
  const std::string data = folder();
  (void)scratch_.write("f/notes.md", "hello\n");
  expect_refused(of(data, {}), 65, "f/notes.md is not a file of data by its name",
                 "remove it from the folder");
  std::filesystem::remove(scratch_.path("f/notes.md"));
  std::filesystem::create_directory(scratch_.path("f/sub"));  // allowed while it is empty
  (void)scratch_.write("f/sub/c.csv", "text,label\nc,good\n");
  expect_refused(of(data, {}), 65, "f/sub is a folder within a folder of data", "--also");
  std::filesystem::create_directory(scratch_.path("empty"));
  expect_refused(of(scratch_.path("empty"), {}), 66, "empty has no files", "name a file of data");
  const std::string a = scratch_.write("a.csv", "text,label\na,good\nb,bad\n");
  expect_refused(of(a, {scratch_.path("none.csv")}), 66, "none.csv", "");
  expect_refused(of(a, {a}), 2, "a.csv is given twice", "its rows would count twice");
  expect_refused(of(scratch_.path("f/.."), {data}), 65, "", "");
}

TEST_F(SeveralFiles, TheStoreRemembersThem) {
  const std::string a = scratch_.write("a.csv", "text,label\na,good\nb,bad\n");
  const std::string b = scratch_.write("b.csv", "text,label\nc,good\n");
  PrepareOptions one = of(a, {});
  one.store = run(of(a, {b})).store;
  expect_refused(one, 2, "train source, file 2 is ", "--rebuild");
  (void)scratch_.write("b.csv", "text,label\nc,bad\n");
  expect_refused(of(a, {b}), 65, "b.csv has changed", "--rebuild");
}

// docs/features.md, Splits and batches: Only the first rows, for a quick look | `--limit`,
// `--overfit`, `--fast-dev-run`
TEST_F(SeveralFiles, ALimitIsOfEachFile) {
  const std::string a = scratch_.write("a.csv", "text,label\na,good\nb,bad\nc,bad\n");
  const std::string b = scratch_.write("b.csv", "text,label\nc,good\nd,bad\na,bad\n");
  PrepareOptions with = of(a, {b});
  with.limit = 2;
  EXPECT_THAT(rows(SampleStore::open(run(with).store)),
              ElementsAre("1:a:good", "2:b:bad", "3:c:good", "4:d:bad"));
}

}  // namespace
}  // namespace bp::trainer
