// bert_train with rounds (--sync): three ranks on one logical host and one on another, which
// exchange their weights only now and then.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/text.h"
#include "tests/e2e/shell_folder.h"
#include "tests/support/places.h"

namespace bp::trainer {
namespace {

using test::Ended;
using test::read;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

class SyncOption : public test::FolderTest<> {
 protected:
  void SetUp() override {
    std::filesystem::copy(kSourceDir + "/examples/reviews.csv", path("reviews.csv"));
  }
  // 50 steps per epoch.
  static std::string bprun(const std::string& options) {
    return concat(kBinDir,
                  "/bprun -H localhost:3,127.0.0.1:1 bert_train reviews.csv --text review --label "
                  "label --model tiny --batch 16 ",
                  options.find("--epochs") == std::string::npos ? "--epochs 2 " : "", options);
  }
  // Starts the command, waits for a line of metrics.jsonl and runs the shell commands `then`.
  [[nodiscard]] Ended interrupted(const std::string& options,
                                  const std::string& line,
                                  const std::string& then) const {
    return in_folder(concat("{ ", bprun(options + " --run r"),
                            " > log 2>&1 & pid=$!; for i in $(seq 1200); do grep -q \"", line,
                            "\" r/metrics.jsonl 2> /dev/null && break; sleep 0.05; done; ", then,
                            "; wait $pid; code=$?; cat log; exit $code; }"));
  }
  [[nodiscard]] std::string weights(const std::string& run) const {
    return read(path(run + "/model/model.safetensors"));
  }
};

// docs/acceptance.md, Rounds: A run with rounds learns, and sends fewer bytes between hosts.
// docs/features.md, Gradients: BMUF, local SGD, DiLoCo | `--sync`, `--sync-outer`
TEST_F(SyncOption, ExchangesWeightsNowAndThen) {
  const std::string output = output_of(bprun("--sync 20 --sync-outer diloco --run r"));
  EXPECT_THAT(output, HasSubstr("step 100, epoch 2: dev accuracy"));
  (void)output_of(bprun("--run each"));
  const auto bytes = [&](const std::string& run) {
    const std::string summary = read(path(run + "/summary.json"));
    const std::string key = "\"bytes\":";
    return std::stod(summary.substr(summary.find(key, summary.find("\"comm\"")) + key.size()));
  };
  EXPECT_LT(10 * bytes("r"), bytes("each"));
  EXPECT_FALSE(weights("r") == weights("each"));
}

// docs/acceptance.md, Rounds: A run that is killed between two rounds resumes to the same bits.
TEST_F(SyncOption, ResumesToTheSameBitsAfterAKill) {
  for (const char* options : {"--sync 15 --sync-outer diloco --save-every 20",
                              "--sync 7 --sync-outer bmuf --save-every 20 --dropout 0.1 --ema 0.9",
                              "--sync 15 --save-every 20 --shard none",
                              "--sync 14 --sync-late --sync-fragments 4 --save-every 20"}) {
    (void)output_of(bprun(concat(options, " --run whole")));
    const Ended killed = interrupted(options, "step.:52,", "kill -KILL $pid");
    ASSERT_EQ(killed.code, 128 + 9) << killed.output;
    const Ended resumed = in_folder(bprun(concat(options, " --run r")));
    ASSERT_EQ(resumed.code, 0) << resumed.output;
    EXPECT_THAT(resumed.output, HasSubstr("resuming from r/checkpoints/step-"));
    EXPECT_TRUE(weights("r") == weights("whole")) << options;
    EXPECT_EQ(read(path("r/predictions.csv")), read(path("whole/predictions.csv")));
    for (const char* run : {"r", "whole"}) std::filesystem::remove_all(path(run));
  }
}

// docs/acceptance.md, Rounds: The model of a run that neither evaluates nor saves is the common
// one.
TEST_F(SyncOption, EndsWithCommonWeights) {
  (void)output_of(bprun("--sync 40 --save-every none --eval-every 100 --run evaluated"));
  (void)output_of(bprun("--sync 40 --save-every none --eval-every none --run none"));
  EXPECT_TRUE(weights("none") == weights("evaluated"));
}

// docs/acceptance.md, Rounds: `--sync 1` is `--sync every`, bit for bit.
TEST_F(SyncOption, EachStepIsEvery) {
  (void)output_of(bprun("--steps 12 --sync 1 --run one"));
  (void)output_of(bprun("--steps 12 --sync every --run every"));
  EXPECT_TRUE(weights("one") == weights("every"));
}

// docs/acceptance.md, Rounds: A run whose rounds go by time stops with the next round, and resumes.
TEST_F(SyncOption, ByTimeStopsWithTheNextRound) {
  for (const char* options : {"--sync 300ms --sync-outer rate:0.9,momentum:0.1,nesterov",
                              "--sync 300ms --sync-late --sync-fragments 3"}) {
    const Ended stopped = interrupted(options, "step.:12,", "kill -TERM $pid");
    ASSERT_EQ(stopped.code, 75) << stopped.output;
    const Ended resumed = in_folder(bprun(concat(options, " --run r")));
    ASSERT_EQ(resumed.code, 0) << resumed.output;
    EXPECT_THAT(resumed.output, HasSubstr("resuming from r/checkpoints/step-"));
    std::filesystem::remove_all(path("r"));
  }
}

// docs/acceptance.md, Rounds: A run with late rounds and fragments learns.
TEST_F(SyncOption, LateFragmentsLearn) {
  EXPECT_THAT(output_of(bprun("--epochs 6 --sync 12 --sync-late --sync-fragments 3 --run late")),
              ContainsRegex("step 300, epoch 6: dev accuracy 0\\.[6-9]"));
}

// docs/acceptance.md, Rounds: A loss that is not finite on some host ends the run.
TEST_F(SyncOption, ALossThatIsNotFiniteEndsTheRun) {
  const Ended ended =
      in_folder(bprun("--sync 100 --optimizer sgd --lr 10 --warmup 0 --weight-decay 10 --run r"));
  EXPECT_EQ(ended.code, 70) << ended.output;
  EXPECT_THAT(ended.output,
              ContainsRegex("bert_train: the (loss|norm of the gradient) at step [0-9]+ is -?(nan|"
                            "inf)\n.* hint: try a lower --lr"));
}

}  // namespace
}  // namespace bp::trainer
