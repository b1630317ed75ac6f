// The command that goes on with a stopped run.
#include "trainer/train/command_again.h"

#include <gtest/gtest.h>

namespace bp::trainer {
namespace {

TEST(CommandAgain, AloneIsTheSameCommand) {
  EXPECT_EQ(command_again({"build/bin/bert_train", "", {}}, {"my data.csv", "--text", "it's"}),
            R"(build/bin/bert_train 'my data.csv' --text 'it'\''s')");
}

TEST(CommandAgain, UnderBprunNamesTheHosts) {
  Topology two;
  two.local_sizes = {3, 1};
  two.host_names = {"a", "fd00::1"};
  EXPECT_EQ(command_again({"bert_train", "../bin/bprun", two}, {"x.csv", "--steps", "9"}),
            "../bin/bprun -H 'a:3,[fd00::1]:1' bert_train x.csv --steps 9");
  Topology here;
  here.local_sizes = {4};
  here.host_names = {"localhost"};
  EXPECT_EQ(command_again({"bert_train", "bprun", here}, {"x.csv"}), "bprun -n 4 bert_train x.csv");
}

TEST(CommandAgain, GoesOnWhereTheFirstWasToldNotTo) {
  EXPECT_EQ(command_again({"bert_train", "", {}}, {"x.csv", "--resume", "never"}),
            "bert_train x.csv --resume never --resume auto");
}

TEST(ShellWord, IsQuotedWhereItMustBe) {
  EXPECT_EQ(shell_word("a/b-c_d.e=f:1,2"), "a/b-c_d.e=f:1,2");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("$HOME"), "'$HOME'");
}

}  // namespace
}  // namespace bp::trainer
