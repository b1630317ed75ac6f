#include "base/nearest.h"

#include <gtest/gtest.h>

namespace bp {
namespace {

TEST(Nearest, FindsTheIntendedWord) {
  const std::vector<std::string> names = {"review", "stars", "id"};
  EXPECT_EQ(nearest_name("Review", names), "review");
  EXPECT_EQ(nearest_name("star", names), "stars");
  EXPECT_EQ(nearest_name("satrs", names), "stars");
  EXPECT_EQ(nearest_name("colour", names), "");
  EXPECT_EQ(nearest_name("review", {}), "");
}

TEST(Nearest, ThatANameBeginsWithTheWordCountsMoreThanEdits) {
  EXPECT_EQ(nearest_name("acc", {"mcc", "accuracy"}), "accuracy");
  EXPECT_EQ(nearest_name("ACC", {"mcc", "accuracy"}), "accuracy");
  EXPECT_EQ(nearest_name("save", {"safe", "save-every-step", "save-every"}), "save-every");
  EXPECT_EQ(nearest_name("ac", {"acceleration"}), "") << "two characters say too little";
  EXPECT_EQ(nearest_name("accs", {"mcc", "accuracy"}), "") << "it begins with acc, not with accs";
}

TEST(Nearest, KnowsTheWordsOfOtherPrograms) {
  EXPECT_EQ(nearest_name("gpu", {"auto", "cpu", "cuda"}), "cuda");
  EXPECT_EQ(nearest_name("GPU", {"auto", "cpu", "cuda"}), "cuda");
  EXPECT_EQ(nearest_name("gpu", {"gpus", "cpu"}), "gpus") << "there is no cuda";
  EXPECT_EQ(nearest_name("bfloat16", {"fp32", "bf16", "fp16"}), "bf16");
  EXPECT_EQ(nearest_name("half", {"fp32", "bf16", "fp16"}), "fp16");
  EXPECT_EQ(nearest_name("ner", {"classify", "regress", "tokens"}), "tokens");
}

}  // namespace
}  // namespace bp
