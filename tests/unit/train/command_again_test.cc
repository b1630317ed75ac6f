// The command that resumes a stopped run.
#include "trainer/run/command_again.h"

#include <gtest/gtest.h>

namespace bp::trainer {
namespace {

using Words = std::vector<std::string>;

TEST(CommandAgain, AloneIsTheSameCommand) {
  const Words typed = {"my data.csv", "--text", "it's"};
  EXPECT_EQ(command_again({"build/bin/bert_train", ""}, arguments_again({typed, "auto", true})),
            R"(build/bin/bert_train 'my data.csv' --text 'it'\''s')");
}

// The command once contained bprun's hosts but none of its other options.
TEST(CommandAgain, UnderBprunIsItsWholeCommand) {
  const Launched launched{"/opt/bert_train",
                          "bprun -H a:3,b:1 --ssh 'ssh -p 2222' --env X=1 --output out bert_train "
                          "x.csv --resume never"};
  EXPECT_EQ(
      command_again(launched, arguments_again({{"x.csv", "--resume", "never"}, "never", true})),
      "bprun -H a:3,b:1 --ssh 'ssh -p 2222' --env X=1 --output out bert_train x.csv --resume "
      "auto");
  const Launched script{"/opt/bert_train", "bprun -n 2 ./train.sh big"};
  EXPECT_EQ(command_again(script, arguments_again({{"x.csv"}, "auto", true})),
            "bprun -n 2 ./train.sh big");
}

TEST(ArgumentsAgain, ResumeOnceACheckpointIsSaved) {
  const auto again = [](const Words& typed, const std::string& resume) {
    return arguments_again({typed, resume, true}).instead;
  };
  EXPECT_EQ(again({"x.csv", "--resume", "never", "--batch=8"}, "never"),
            (Words{"x.csv", "--resume", "auto", "--batch=8"}));
  EXPECT_EQ(again({"--resume=runs/a", "x.csv"}, "runs/a"), (Words{"--resume", "auto", "x.csv"}));
  EXPECT_EQ(again({"--resume=auto", "x.csv", "--resume", "never"}, "never"),
            (Words{"x.csv", "--resume", "auto"}));
  EXPECT_EQ(again({"--config", "c.yaml"}, "never"),
            (Words{"--config", "c.yaml", "--resume", "auto"}));
  EXPECT_EQ(again({"x.csv"}, "auto"), (Words{"x.csv"}));
}

TEST(ArgumentsAgain, StartOverIfNoCheckpointIsSaved) {
  const auto again = [](const Words& typed, const std::string& resume) {
    const ResumeWords words = arguments_again({typed, resume, false});
    EXPECT_FALSE(words.saved);
    EXPECT_EQ(words.given, typed);
    return words.instead;
  };
  EXPECT_EQ(again({"x.csv", "--resume", "never"}, "never"), (Words{"x.csv", "--resume", "auto"}))
      << "the run's folder exists by then, and '--resume never' would refuse it";
  EXPECT_EQ(again({"x.csv", "--resume", "runs/a"}, "runs/a"),
            (Words{"x.csv", "--resume", "runs/a"}));
}

}  // namespace
}  // namespace bp::trainer
