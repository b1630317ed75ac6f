// What state.json says of a run: it comes back as it was, old versions are read, and malformed text
// is refused.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <string>

#include "checkpoint_fixture.h"
#include "tests/unit/model/refusal.h"
#include "trainer/report/json.h"

namespace bp::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(CheckpointState, RoundTrips) {
  CheckpointState state;
  state.step = 212;
  state.skipped_in_a_row = 4;
  state.position = {3, 17};
  state.rows = 100;
  state.nominal_weight = 127.3;
  state.loss_scale = 4096;
  state.good_windows = 11;
  state.bucket_order = {2, 0, 1};
  state.evaluation_due = true;
  state.dev = EvaluationSummary{{{"loss", 0.1}, {"accuracy", 0.9}}};
  state.best = {{200, {{{"loss", 0.2}, {"accuracy", 0.95}}}},
                {150, {{{"loss", 0.3}, {"accuracy", 0.94}}}}};
  state.totals = {1, 2, 0.3, 0.4, 5, 0.6, 7};
  state.store = "id";
  state.hosts = "a,b";
  state.summation = {{"threads", "1,1"}};
  state.options = {{"lr", "0.001", "default"}};
  const CheckpointState again = parse_state(to_json(state));
  EXPECT_EQ(again.step, 212);
  EXPECT_EQ(again.position, state.position);
  EXPECT_EQ(again.nominal_weight, 127.3);
  EXPECT_EQ(again.loss_scale, 4096);
  EXPECT_EQ(again.good_windows, 11);
  EXPECT_EQ(again.bucket_order, state.bucket_order);
  EXPECT_TRUE(again.evaluation_due);
  EXPECT_EQ(again.dev->at("accuracy"), 0.9);
  EXPECT_THAT(steps_of(again.best), ElementsAre(200, 150));
  EXPECT_EQ(again.best[0].dev.at("loss"), 0.2);
  EXPECT_EQ(again.totals.seconds_exposed, 0.4);
  EXPECT_EQ(again.totals.gradient_bytes, 5);
  EXPECT_EQ(again.totals.skipped, 7);
  EXPECT_EQ(again.skipped_in_a_row, 4);
  EXPECT_EQ(again.summation, state.summation);
  EXPECT_EQ(again.options[0].value, "0.001");
  EXPECT_EQ(to_json(again), to_json(state));
}

TEST(CheckpointState, ValuesThatAreNotFiniteAreReadAsNaN) {
  CheckpointState state;
  state.dev =
      EvaluationSummary{{{"loss", std::numeric_limits<double>::infinity()}, {"accuracy", 0.5}}};
  const CheckpointState again = parse_state(to_json(state));
  EXPECT_TRUE(std::isnan(again.dev->at("loss")));
  EXPECT_EQ(again.dev->at("accuracy"), 0.5);
}

TEST(CheckpointState, OfAnOlderVersionHasNoSkippedStepsNoLossScaleAndNoBucketOrder) {
  CheckpointState state;
  state.loss_scale = 4096;
  state.good_windows = 11;
  state.skipped_in_a_row = 4;
  state.totals.skipped = 7;
  state.bucket_order = {1, 0};
  Json json = Json::parse(to_json(state));
  json.erase("skipped_in_a_row");
  json.erase("bucket_order");
  json.erase("loss_scale");
  json.erase("good_windows");
  json["totals"].erase("skipped_steps");
  const CheckpointState again = parse_state(json.dump());
  EXPECT_EQ(again.skipped_in_a_row, 0);
  EXPECT_EQ(again.totals.skipped, 0);
  EXPECT_EQ(again.loss_scale, 0);
  EXPECT_EQ(again.good_windows, 0);
  EXPECT_THAT(again.bucket_order, IsEmpty());
  EXPECT_FALSE(again.dev);
  EXPECT_THAT(again.best, IsEmpty());
}

TEST(CheckpointState, RanksTheBestFirstAndBreaksTiesByTheEarlierStep) {
  std::vector<BestResult> best;
  const auto ranked = [&](std::int64_t step, double accuracy, int most) {
    rank_result(best, {step, {{{"loss", 1}, {"accuracy", accuracy}}}}, {"accuracy"}, most);
    return steps_of(best);
  };
  EXPECT_THAT(ranked(10, 0.5, 1), ElementsAre(10));
  EXPECT_THAT(ranked(20, 0.5, 1), ElementsAre(10));
  EXPECT_THAT(ranked(30, 0.5, 3), ElementsAre(10, 30));
  EXPECT_THAT(ranked(40, 0.6, 3), ElementsAre(40, 10, 30));
  EXPECT_THAT(ranked(50, 0.5, 3), ElementsAre(40, 10, 30));
  EXPECT_THAT(ranked(60, 0.55, 3), ElementsAre(40, 60, 10));
  EXPECT_THAT(ranked(70, 0.1, 1), ElementsAre(40));
}

TEST(CheckpointState, ResultsAreRankedAgainByAnotherScore) {
  std::vector<BestResult> best = {{10, {{{"accuracy", 0.9}, {"mcc", 0.1}}}},
                                  {20, {{{"accuracy", 0.8}, {"mcc", 0.3}}}},
                                  {30, {{{"accuracy", 0.7}}}},
                                  {40, {{{"accuracy", 0.6}, {"mcc", 0.3}}}}};
  rank_again(best, {"mcc"});
  EXPECT_THAT(steps_of(best), ElementsAre(20, 40, 10, 30)) << "one without the score is the last";
  rank_again(best, {"accuracy"});
  EXPECT_THAT(steps_of(best), ElementsAre(10, 20, 30, 40));
}

TEST(CheckpointState, RefusesMalformedText) {
  CheckpointState state;
  state.step = 3;
  state.position = {0, 100};
  state.rows = 100;
  const auto refused = [](const std::string& json) {
    return test::refusal([&] { (void)parse_state(json); });
  };
  EXPECT_EQ(refused(to_json(state)),
            "step 3, epoch 0, row 100 of 100 and nominal weight 0 are not a position in a run");
  state.position = {0, 101};
  EXPECT_THAT(refused(to_json(state)), HasSubstr("row 101 of 100"));
  state.position = {0, 99};
  state.nominal_weight = -1;
  EXPECT_THAT(refused(to_json(state)), HasSubstr("nominal weight -1 are not a position in a run"));
  state.nominal_weight = 0;
  state.loss_scale = -4;
  EXPECT_EQ(refused(to_json(state)), "the loss scale is -4, not a positive number or 0");
  state.loss_scale = 0;
  EXPECT_EQ(parse_state(to_json(state)).position.used, 99);
  EXPECT_EQ(refused(R"({"a": )" + test::kDeep + R"(, "b": 1, "c": 2})"), "it is nested too deeply");
  EXPECT_THAT(refused("{}"), HasSubstr("format"));
  EXPECT_THAT(refused(R"({"format": 9})"), HasSubstr("its format is 9, and this program knows 1"));
  EXPECT_THAT(refused(R"({"format": 1, "step": "x"})"), HasSubstr(R"("step" is "x", not a whole)"));
}

}  // namespace
}  // namespace bp::trainer
