// The list of runs.
// docs/acceptance.md, Runs: A run that is finished, in progress, stopped, failed or damaged has a
// report, and so has a predictions.csv alone.
#include "trainer/runs/run_list.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "runs_fixture.h"
#include "tests/unit/data/input_refusal.h"

namespace bp::trainer {
namespace {

using bp::trainer::test::RunsFixture;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RunListTest : public RunsFixture {
 protected:
  void SetUp() override {
    RunsFixture::SetUp();
    make_run({.name = "b", .dev = 0.7, .test = 0.9, .begun = "2026-11-24T05:00:00Z"});
    make_run({.name = "a", .dev = 0.8, .begun = "2026-11-23T05:00:00Z", .outcome = "stopped"});
    make_run({.name = "c", .dev = 0.9, .begun = "2026-11-25T05:00:00Z", .outcome = "failed"});
    write("damaged/metrics.jsonl", "");
    std::filesystem::create_directories(path("nothing"));
    write("file", "");
  }
  std::vector<std::string> names(const std::string& by) const {
    std::vector<ListedRun> runs = list_runs(path());
    sort_runs(runs, by);
    std::vector<std::string> names;
    for (const ListedRun& run : runs) names.push_back(run.name);
    return names;
  }
};

TEST_F(RunListTest, HasALineForEachRun) {
  const std::string text = runs_text(list_runs(path()), "");
  EXPECT_THAT(text,
              HasSubstr("run         state      task  model  steps     score  best dev    test "
                        " time        date (UTC)\n"));
  EXPECT_THAT(text,
              HasSubstr("a         stopped  classify   tiny     40  accuracy    0.8000       - "
                        " 0:20  2026-11-23 05:00\n"));
  EXPECT_THAT(text, HasSubstr("damaged   damaged\n"));
  EXPECT_THAT(text, HasSubstr("\nc: a reason\n"));
  EXPECT_THAT(text, HasSubstr("\ndamaged: " + path("damaged") + " is not the folder of a run"));
}

// docs/features.md, Searches: The best result, while the search runs | `bprun sweep status`,
// `report`; `bert_train runs --sort`
TEST_F(RunListTest, IsSorted) {
  EXPECT_THAT(names("name"), ElementsAre("a", "b", "c", "damaged"));
  EXPECT_THAT(names("accuracy"), ElementsAre("c", "a", "b", "damaged"));
  EXPECT_THAT(names("loss"), ElementsAre("c", "a", "b", "damaged"));
  EXPECT_THAT(names("date"), ElementsAre("c", "b", "a", "damaged"));
  EXPECT_THAT(names("state"), ElementsAre("b", "a", "c", "damaged"));
  EXPECT_THAT(test::input_refusal([&] { (void)names("acuracy"); }),
              HasSubstr("2: --sort: no run has the score 'acuracy' | did you mean 'accuracy'?"));
}

TEST_F(RunListTest, IsWrittenAsJsonAndCsv) {
  const auto json = nlohmann::json::parse(runs_json(list_runs(path()), ""));
  ASSERT_EQ(json.size(), 4U);
  EXPECT_EQ(json[1]["run"], "b");
  EXPECT_EQ(json[1]["state"], "finished");
  EXPECT_EQ(json[1]["test"], 0.9);
  EXPECT_EQ(json[0]["test"], nullptr);
  EXPECT_EQ(json[0]["best_dev_step"], 40);
  EXPECT_EQ(json[3]["state"], "damaged");
  const std::string csv = runs_csv(list_runs(path()), "loss");
  EXPECT_THAT(csv, HasSubstr("\nb,finished,,classify,tiny,40,2,loss,0.3"));
  EXPECT_THAT(csv, HasSubstr("\nc,failed,a reason,"));
  EXPECT_THAT(csv, HasSubstr("\ndamaged,damaged,"));
}

TEST_F(RunListTest, OfARunIsTheRun) {
  EXPECT_EQ(list_runs(path("a")).size(), 1U);
  EXPECT_EQ(list_runs(path("nothing")).size(), 0U);
  EXPECT_THAT(test::input_refusal([&] { (void)list_runs(path("none")); }),
              HasSubstr("66: there is no folder " + path("none")));
}

}  // namespace
}  // namespace bp::trainer
