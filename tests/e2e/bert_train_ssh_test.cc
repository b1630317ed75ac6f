// The main job over real ssh, on two hosts of unequal size behind sshd that the test starts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/e2e/launcher/ssh_fixture.h"
#include "tests/support/places.h"

namespace bp::test {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using BertTrainOverSsh = SshTest;

TEST_F(BertTrainOverSsh, Trains) {
  const std::string run_folder = folder() + "/run";
  BprunProcess bprun =
      run({"-H", "h1:2,h2:1", kBinDir + "/bert_train", kSourceDir + "/examples/reviews.csv",
           "--text", "review", "--label", "label", "--model", "tiny", "--steps", "5", "--store",
           folder() + "/reviews.sqlite", "--run", run_folder});
  EXPECT_EQ(bprun.finish(), 0) << bprun.err();
  EXPECT_THAT(bprun.out(), HasSubstr("3 ranks"));
  EXPECT_THAT(bprun.out(), HasSubstr("test: accuracy"));
  EXPECT_TRUE(std::filesystem::exists(run_folder + "/report.html"));
  EXPECT_EQ(bprun.marked(), 0);
}

TEST_F(BertTrainOverSsh, AMistakeEndsTheJobAndLeavesNoProcess) {
  BprunProcess bprun = run({"-H", "h1:2,h2:1", kBinDir + "/bert_train", folder() + "/none.csv"});
  EXPECT_EQ(bprun.finish(), 66) << bprun.err();
  // The leader of each host finds the mistake, and bprun reports the one that ends first.
  EXPECT_THAT(bprun.err(), ContainsRegex("bprun: FAILED  rank (0 on h1|2 on h2)"));
  EXPECT_EQ(bprun.marked_at_last(), 0);
}

}  // namespace
}  // namespace bp::test
