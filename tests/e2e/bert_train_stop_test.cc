// Ctrl-C and SIGTERM while bert_train trains, prepares and scores, mostly without bprun.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/e2e/trained_run.h"
#include "tests/support/places.h"

namespace bp::trainer {
namespace {

using test::Ended;
using ::testing::HasSubstr;
using ::testing::Not;

class BertTrainStop : public test::TrainedRun {
 protected:
  // Starts bert_train with the default action of SIGINT, as a terminal does, waits until the
  // command `ready` succeeds, and runs `then`, in which $pid is bert_train. Returns the code and
  // output of bert_train.
  static Ended stopped(const std::string& arguments,
                       const std::string& ready,
                       const std::string& then) {
    return in_folder(concat("{ env --default-signal=INT " + kBinDir + "/bert_train ", arguments,
                            " > log 2>&1 & pid=$!; for i in $(seq 2400); do { ", ready,
                            "; } > tmp.out 2>&1 && break; sleep 0.02; done; rm tmp.out; ", then,
                            "; wait $pid; code=$?; cat log; rm log; exit $code; }"));
  }
  static std::string trains(const std::string& run) {
    return concat("data.csv --model tiny --max-length 32 --batch 8 --steps 1000000 --run ", run);
  }
};

// docs/acceptance.md, Training: Ctrl-C without bprun saves a checkpoint and prints how to resume.
TEST_F(BertTrainStop, CtrlCWhileTrainingSavesAndPrintsHowToResume) {
  const Ended ended = stopped(trains("c"), "grep step.:1, c/metrics.jsonl", "kill -INT $pid");
  EXPECT_EQ(ended.code, 130) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("bert_train: Ctrl-C: stopping (press Ctrl-C again to end at "
                                      "once)\n"));
  EXPECT_THAT(ended.output, HasSubstr("stopped on request after step "));
  EXPECT_THAT(ended.output, HasSubstr("; saved in c/checkpoints/step-"));
  EXPECT_THAT(ended.output, HasSubstr("bert_train " + trains("c") + "\n"));
  EXPECT_TRUE(std::filesystem::exists(path("c/checkpoints/latest/optimizer.safetensors")));
  const Ended again = stopped(trains("c"), "grep resuming.from log", "kill -HUP $pid");
  EXPECT_EQ(again.code, 75) << again.output;
}

TEST_F(BertTrainStop, ASecondCtrlCEndsAtOnce) {
  // bert_train is stopped while the first signal arrives, but it may still save before the second.
  const Ended ended = stopped(trains("s"), "grep step.:1, s/metrics.jsonl",
                              "kill -STOP $pid; kill -INT $pid; kill -CONT $pid; "
                              "until grep -q Ctrl-C log; do :; done; kill -INT $pid");
  EXPECT_EQ(ended.code, 130) << ended.output;
  const bool first_was_quicker = ended.output.find("saved in s/") != std::string::npos;
  if (!first_was_quicker) {
    EXPECT_THAT(ended.output, HasSubstr("bert_train: ended at once by Ctrl-C\n"));
  }
}

TEST_F(BertTrainStop, WithoutAReaderOfItsOutputItTrainsToTheEnd) {
  const Ended ended = in_folder(
      "{ { " + kBinDir +
      "/bert_train data.csv --model tiny --max-length 32 --batch 8 --steps 40 --run h; echo $? > "
      "code; } 2>&1 | head -n 1; }");
  EXPECT_EQ(std::ranges::count(ended.output, '\n'), 1) << ended.output;
  EXPECT_EQ(test::read(path("code")), "74\n");
  EXPECT_TRUE(std::filesystem::exists(path("h/checkpoints/latest/optimizer.safetensors")));
  EXPECT_TRUE(std::filesystem::exists(path("h/model/model.safetensors")));
  EXPECT_TRUE(std::filesystem::exists(path("h/report.html")));
  // A command whose output is all that it does ends like any other program.
  const Ended predicted = in_folder("{ { env --default-signal=PIPE " + kBinDir +
                                    "/bert_train predict h data.csv; echo $? > code; } | head -n "
                                    "1; }");
  EXPECT_EQ(test::read(path("code")), "141\n") << predicted.output;
}

// docs/acceptance.md, Training: Ctrl-C while preparing keeps what is prepared.
TEST_F(BertTrainStop, WhilePreparingKeepsWhatIsPrepared) {
  write_rows("many.csv", 400'000, 0);
  const Ended ended = stopped("prep many.csv", "ls many.sqlite.part-*", "kill -INT $pid");
  EXPECT_EQ(ended.code, 130) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("bert_train: stopped on request while reading many.csv; "));
  EXPECT_THAT(ended.output, HasSubstr(" of 400,000 rows are prepared and kept\n"
                                      "hint: the same command continues\n"));
  EXPECT_FALSE(std::filesystem::exists(path("many.sqlite")));
  EXPECT_FALSE(std::filesystem::exists(path("many.sqlite.lease")));
  (void)in_folder("rm many.*");
}

TEST_F(BertTrainStop, WhileScoringLeavesNoFiles) {
  write_rows("long.csv", 60'000, 0);
  const auto before = names();
  for (const char* ready : {"ls tmp/bert_train-*/store.sqlite.part-*", "test -z \"$(ls tmp)\""}) {
    const Ended ended = stopped("eval r long.csv --out p.csv",
                                concat("grep reading log && ", ready), "kill -INT $pid");
    EXPECT_EQ(ended.code, 130) << ended.output;
    EXPECT_THAT(ended.output, HasSubstr("stopped on request while "));
    EXPECT_THAT(ended.output, Not(HasSubstr("accuracy")));
    EXPECT_THAT(ended.output, Not(HasSubstr("kept")));
    EXPECT_EQ(names(), before) << ready;
  }
  std::filesystem::remove(path("long.csv"));
}

// The ranks are stopped (SIGSTOP) when they begin, and bprun's SIGTERM continues them: on a busy
// machine they could prepare all rows before it arrives.
TEST_F(BertTrainStop, UnderBprunPreparingAlsoEndsProperly) {
  write_rows("many.csv", 150'000, 0);
  const Ended ended = in_folder(
      "{ " + kBinDir +
      "/bprun -n 2 bert_train prep many.csv > log 2>&1 & pid=$!; for i in $(seq 2400); do "
      "grep -q reading log && break; sleep 0.01; done; for rank in $(pgrep -x bert_train); do "
      "test \"$(readlink /proc/$rank/cwd)\" = \"$(pwd -P)\" && kill -STOP $rank; done; "
      "kill -TERM $pid; wait $pid; code=$?; cat log; rm log many.sqlite*; exit $code; }");
  EXPECT_EQ(ended.code, 75) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("stopped on request while reading many.csv"));
  EXPECT_THAT(ended.output, Not(HasSubstr("FAILED")));
  std::filesystem::remove(path("many.csv"));
}

}  // namespace
}  // namespace bp::trainer
