// On a full disk, complete files are kept, and the error names the file and how much room is
// missing.
#include "tests/unit/data/full_disk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/scratch.h"
#include "trainer/common/whole_file.h"
#include "trainer/report/metrics.h"
#include "trainer/report/predictions.h"

namespace bp::trainer {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::StartsWith;

constexpr rlim_t kRoom = 1000;

TEST(FullDisk, AWholeFileKeepsItsOldContent) {
  const Scratch scratch;
  const std::string path = scratch.write("report.html", "old");
  EXPECT_THAT(
      error_on_full_disk(scratch, kRoom, [&] { write_whole_file(path, std::string(5000, 'x')); }),
      AllOf(StartsWith("cannot write " + path +
                       ": File too large; about 3.9 KiB more are "
                       "needed, "),
            ContainsRegex(" are free there$")));
  EXPECT_EQ(read_file(path), "old");
  EXPECT_THAT(scratch.names(), testing::ElementsAre("report.html"));
}

TEST(FullDisk, PredictionsKeepTheOldFile) {
  const Scratch scratch;
  const std::string path = scratch.write("predictions.csv", "old");
  EXPECT_THAT(error_on_full_disk(scratch, kRoom,
                                 [&] {
                                   PredictionsWriter writer(path, {{"prediction"}});
                                   const std::string fields[] = {"yes"};
                                   for (int i = 1; i < 100; ++i) {
                                     writer.add({i, i, fields});
                                   }
                                   writer.finish();
                                 }),
              StartsWith("cannot write " + path + ": File too large; about "));
  EXPECT_EQ(read_file(path), "old");
  EXPECT_THAT(scratch.names(), testing::ElementsAre("predictions.csv"));
}

TEST(FullDisk, MetricsEndWithAWholeLine) {
  const Scratch scratch;
  const std::string path = scratch.path("metrics.jsonl");
  EXPECT_THAT(error_on_full_disk(scratch, kRoom,
                                 [&] {
                                   MetricsWriter writer(path);
                                   for (int i = 1; i < 100; ++i) {
                                     writer.write(StepRecord{.step = i});
                                   }
                                 }),
              StartsWith("cannot write " + path + ": "));
  const std::string text = read_file(path);
  ASSERT_FALSE(text.empty());
  EXPECT_EQ(text.back(), '\n');
  EXPECT_GT(read_metrics(path).steps.size(), 2U);
}

}  // namespace
}  // namespace bp::trainer
