// The database of runs.
// docs/acceptance.md, Runs: Several runs may write a database of runs at once. Its failure loses no
// run.
#include "trainer/runs/runs_database.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>

#include <chrono>
#include <exception>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/text.h"
#include "runs_fixture.h"
#include "tests/unit/data/input_refusal.h"

namespace bp::trainer {
namespace {

using bp::trainer::test::RunsFixture;
using ::testing::HasSubstr;

class RunsDatabaseTest : public RunsFixture {
 protected:
  void SetUp() override {
    RunsFixture::SetUp();
    make_run({.name = "a", .dev = 0.9, .test = 0.8, .outcome = "finished"});
    write("a/predictions.csv",
          "sample_id,text_id,label,prediction,p_no,p_yes\n1,7,no,\"n\"\"o\",0.9,0.1\n");
  }
  RunToStore run(const std::string& name) const {
    return {read_run(path(name)), name == "a" ? std::vector<PredictionColumn>{{"label"},
                                                                              {"prediction"},
                                                                              {"p_no", true},
                                                                              {"p_yes", true}}
                                              : std::vector<PredictionColumn>{}};
  }
  std::string value(const std::string& query) const {
    SQLite::Database database(path("runs.sqlite"));
    return database.execAndGet(query).getString();
  }
};

// docs/features.md, Input: Results of runs in SQLite | `--runs-db`
TEST_F(RunsDatabaseTest, HasTheRunWithItsSettingsScoresAndPredictions) {
  store_run(path("runs.sqlite"), run("a"));
  EXPECT_EQ(value("SELECT path FROM runs"), path("a"));
  EXPECT_EQ(value("SELECT state || task || steps || main_score FROM runs"),
            "finishedclassify40accuracy");
  EXPECT_EQ(value("SELECT best_dev FROM runs"), "0.9");
  EXPECT_EQ(value("SELECT ranks FROM runs"), "2");
  EXPECT_EQ(value("SELECT value || origin FROM settings WHERE key = 'lr'"), "0.001command line");
  EXPECT_EQ(value("SELECT value FROM evaluations WHERE split = 'test' AND score = 'accuracy'"),
            "0.8");
  EXPECT_EQ(value("SELECT COUNT(*) FROM evaluations WHERE split = 'dev'"), "4");
  EXPECT_EQ(value("SELECT row FROM predictions WHERE sample_id = 1 AND text_id = 7"),
            R"({"sample_id": 1, "text_id": 7, "label": "no", "prediction": "n\"o", "p_no": 0.9, )"
            R"("p_yes": 0.1})");
}

TEST_F(RunsDatabaseTest, ReplacesAnEarlierStateAndKeepsOtherRuns) {
  store_run(path("runs.sqlite"), run("a"));
  make_run({.name = "b", .begun = "2026-01-01T00:00:00Z", .outcome = "stopped"});
  store_run(path("runs.sqlite"), run("b"));
  store_run(path("runs.sqlite"), run("a"));
  EXPECT_EQ(value("SELECT COUNT(*) FROM runs"), "2");
  EXPECT_EQ(value("SELECT COUNT(*) FROM predictions"), "1");
  make_run({.name = "a", .begun = "2026-11-25T00:00:00Z"});  // another run in the same folder
  store_run(path("runs.sqlite"), run("a"));
  EXPECT_EQ(value("SELECT COUNT(*) FROM runs"), "3");
}

TEST_F(RunsDatabaseTest, TwoRunsThatEndAtOnceAreBothStored) {
  constexpr int kRuns = 6;
  std::vector<RunToStore> runs;
  for (int i = 0; i < kRuns; ++i) {
    const std::string name = concat("r", i);
    make_run({.name = name});
    runs.push_back({read_run(path(name))});
  }
  std::vector<std::thread> threads;
  for (const RunToStore& one : runs) {
    threads.emplace_back([&] { store_run(path("runs.sqlite"), one); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(value("SELECT COUNT(*) FROM runs"), "6");
}

TEST_F(RunsDatabaseTest, AFailureChangesNothing) {
  store_run(path("runs.sqlite"), run("a"));
  {
    SQLite::Database other(path("runs.sqlite"), SQLite::OPEN_READWRITE);
    const SQLite::Transaction lock(other, SQLite::TransactionBehavior::EXCLUSIVE);
    EXPECT_THROW(store_run(path("runs.sqlite"), run("a"), std::chrono::milliseconds(50)),
                 std::exception);
    EXPECT_NO_THROW(check_runs_database(path("runs.sqlite")));
  }
  write("a/predictions.csv", "sample_id,text_id,label,prediction,p_no,p_yes\nx,7,no,no,0.9,0.1\n");
  EXPECT_THROW(store_run(path("runs.sqlite"), run("a")), std::exception);
  EXPECT_EQ(value("SELECT COUNT(*) FROM predictions"), "1");
}

TEST_F(RunsDatabaseTest, OfAnotherKindIsRefusedBeforeTheRun) {
  EXPECT_NO_THROW(check_runs_database(path("none.sqlite")));
  EXPECT_FALSE(std::filesystem::exists(path("none.sqlite")));
  store_run(path("runs.sqlite"), run("a"));
  EXPECT_NO_THROW(check_runs_database(path("runs.sqlite")));
  write("text", "this is a text and no database at all, whatever its name says it may be");
  EXPECT_THAT(test::input_refusal([&] { check_runs_database(path("text")); }),
              HasSubstr("2: --runs-db: " + path("text") + ": file is not a database"));
  SQLite::Database(path("other.sqlite"), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE)
      .exec("CREATE TABLE a(b)");
  EXPECT_THAT(test::input_refusal([&] { check_runs_database(path("other.sqlite")); }),
              HasSubstr("it is another kind of database"));
}

}  // namespace
}  // namespace bp::trainer
