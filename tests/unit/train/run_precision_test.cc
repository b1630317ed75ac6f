// What --precision auto means.
#include "trainer/commands/run_precision.h"

#include <gtest/gtest.h>

namespace bp::trainer {
namespace {

TEST(RunPrecision, IsBf16IfAllProcessorsHaveInstructionsForIt) {
  const std::string with = precision_wish("", true);
  const std::string without = precision_wish("", false);
  EXPECT_EQ(chosen_precision({with, with}), Precision::bf16);
  EXPECT_EQ(chosen_precision({with, without}), Precision::fp32);
  EXPECT_EQ(chosen_precision({without, with}), Precision::fp32);
  EXPECT_EQ(chosen_precision({without}), Precision::fp32);
}

TEST(RunPrecision, IsThatOfTheCheckpointOfRank0) {
  EXPECT_EQ(chosen_precision({precision_wish("bf16", false), precision_wish("", false)}),
            Precision::bf16);
  EXPECT_EQ(chosen_precision({precision_wish("fp32", true), precision_wish("", true)}),
            Precision::fp32);
  EXPECT_EQ(chosen_precision({precision_wish("fp16", true)}), Precision::fp16);
}

}  // namespace
}  // namespace bp::trainer
