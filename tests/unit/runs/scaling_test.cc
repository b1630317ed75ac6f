// The table of `bert_train scale`, on published numbers and on ones by hand.
#include "trainer/runs/scaling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "trainer/report/shown_text.h"

namespace bp::trainer {
namespace {

using ::testing::HasSubstr;

// HetSeq (yifding/hetseq, README): BERT-base on 4, 8, 16 and 32 GPUs takes 7.19, 4.19, 2.23 and
// 1.21 days for the same rows.
// docs/features.md, Evaluation and reports: A table of speed by number of ranks | `scale --worlds
// 1,2,3+1`
TEST(Scaling, PublishedDaysGiveThePublishedSpeedUpAndExpansion) {
  std::vector<MeasuredWorld> worlds;
  for (const auto& [ranks, days] :
       {std::pair(4, 7.19), std::pair(8, 4.19), std::pair(16, 2.23), std::pair(32, 1.21)}) {
    worlds.push_back({.name = "hetseq", .ranks = ranks, .samples = 1, .seconds = days});
  }
  std::string speed_ups;
  std::string expansions;
  for (const ScalingRow& row : scaling_rows(worlds)) {
    speed_ups += fixed(row.speed_up, 2) + " ";
    expansions += fixed(row.expansion, 2) + " ";
  }
  EXPECT_EQ(speed_ups, "1.00 1.72 3.22 5.94 ");
  EXPECT_EQ(expansions, "1.00 0.86 0.81 0.74 ");
}

// The same README has the seconds of a step, which leave out what a job does beside its steps. A
// step has 32 rows for each GPU.
TEST(Scaling, PublishedStepsGiveMore) {
  const std::vector<ScalingRow> rows =
      scaling_rows({{"1", 4, 128, 2.60, 0}, {"2", 8, 256, 2.69, 0}, {"4", 16, 512, 2.794, 0}});
  EXPECT_NEAR(rows[1].speed_up, 2 * 2.60 / 2.69, 1e-12);
  EXPECT_NEAR(rows[1].expansion, 2.60 / 2.69, 1e-12);
  EXPECT_NEAR(rows[2].expansion, 2.60 / 2.794, 1e-12);
}

TEST(Scaling, AWorldMayHaveAnyRanks) {
  // Three ranks do 30 samples in 2 s, and 4 on two hosts 40 in 4 s, half of it waiting.
  const std::vector<ScalingRow> rows = scaling_rows({{"3", 3, 30, 2, 0.1}, {"3+1", 4, 40, 4, 2}});
  EXPECT_EQ(rows[0].samples_per_s, 15);
  EXPECT_EQ(rows[1].samples_per_s, 10);
  EXPECT_NEAR(rows[1].speed_up, 10.0 / 15, 1e-12);
  EXPECT_NEAR(rows[1].expansion, 0.5, 1e-12);
  EXPECT_EQ(rows[1].communication, 0.5);
  EXPECT_EQ(terminal_text(scaling_table(rows)),
            "world  ranks  ms/step  samples/s  speed-up  expansion  communication\n"
            "3          3    2,000       15.0      1.00       1.00          5.0 %\n"
            "3+1        4    4,000       10.0      0.67       0.50         50.0 %\n");
  EXPECT_THAT(scaling_csv(rows), HasSubstr("\n3,3,30,2000,15,1,1,0.05\n3+1,4,40,4000,10,0.66"));
  const std::string page = scaling_page(rows, "tiny & <b>");
  EXPECT_THAT(page, HasSubstr("tiny &amp; &lt;b&gt;"));
  EXPECT_THAT(page, HasSubstr("<th scope=\"row\">3+1</th>"));
  EXPECT_THAT(page, HasSubstr("<svg"));
}

}  // namespace
}  // namespace bp::trainer
