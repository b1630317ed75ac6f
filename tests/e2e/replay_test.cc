// bert_train replay: a step that failed, in a process of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <nlohmann/json.hpp>

#include "tests/e2e/trained_run.h"
#include "tests/support/places.h"

namespace bp::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ReplayRuns : public TrainedRun {
 protected:
  // The file ends with the last number of classifier.weight, since names are sorted.
  static void set_last_weight(const std::string& file, const std::string& bytes) {
    std::fstream weights(path(file), std::ios::binary | std::ios::in | std::ios::out);
    weights.seekp(-4, std::ios::end);
    weights.write(bytes.data(), 4);
    ASSERT_TRUE(weights.good()) << file;
  }
};

const std::string kInfinity("\x00\x00\x80\x7f", 4);
const std::string kZero(4, '\0');

// docs/features.md, Loop and checkpoints: A folder for the batch that failed | `RUN/bug/`, which
// `bert_train replay` computes again
TEST_F(ReplayRuns, AnInfiniteWeightOfAModelIsFoundAndItsRemovalHelps) {
  std::filesystem::copy(path("r/model"), path("broken"));
  set_last_weight("broken/model.safetensors", kInfinity);
  const Ended failed = in_folder(kBinDir + "/bprun -n 2 " + kBinDir +
                                 "/bert_train data.csv --model broken --batch 4 "
                                 "--max-length 32 --store b.sqlite --run bad");
  EXPECT_EQ(failed.code, 70) << failed.output;
  EXPECT_THAT(failed.output, HasSubstr("`bert_train replay bad/bug/step-1`"));

  const Ended again = bert_train("replay bad/bug/step-1");
  ASSERT_EQ(again.code, 0) << again.output;
  EXPECT_THAT(
      again.output,
      AllOf(HasSubstr("step 1 failed: the loss at step 1 is "),
            HasSubstr("rank 0, batch 0: 4 samples, loss "),
            HasSubstr("rank 1, batch 0: 4 samples, loss "),
            HasSubstr("the first value that is not finite: the weight classifier.weight (1 of 256 "
                      "values)\n")));

  set_last_weight("bad/bug/step-1/weights.safetensors", kZero);
  const Ended mended = bert_train("replay bad/bug/step-1/");
  ASSERT_EQ(mended.code, 0) << mended.output;
  EXPECT_THAT(mended.output,
              AllOf(HasSubstr("all values are finite this time; the norm of the gradient is "),
                    Not(HasSubstr("the first value that is not finite"))));
}

TEST_F(ReplayRuns, AStepWithATeacherHasItsLossAgain) {
  std::filesystem::copy(path("r/model"), path("student"));
  set_last_weight("student/model.safetensors", kInfinity);
  const std::string words =
      "data.csv --model student --batch 4 --max-length 32 --store b.sqlite --teacher r/model "
      "--distill-hidden 0.5 ";
  const Ended failed = bert_train(words + "--run taught");
  EXPECT_EQ(failed.code, 70) << failed.output;
  set_last_weight("taught/bug/step-1/weights.safetensors", kZero);
  set_last_weight("student/model.safetensors", kZero);
  const Ended again = bert_train("replay taught/bug/step-1");
  ASSERT_EQ(again.code, 0) << again.output;
  ASSERT_EQ(bert_train(words + "--run mended --steps 1").code, 0);
  const std::string record = read(path("mended/metrics.jsonl"));
  const auto loss = nlohmann::json::parse(record.substr(0, record.find('\n')))["loss"];
  std::istringstream text(again.output.substr(again.output.find(", loss ") + 7));
  double replayed = 0;
  text >> replayed;
  EXPECT_NEAR(replayed, loss.get<double>(), 1e-3 * replayed) << again.output;

  std::filesystem::remove_all(path("r2"));
  const Ended gone =
      in_folder("mv r r2; " + kBinDir + "/bert_train replay taught/bug/step-1; mv r2 r");
  EXPECT_THAT(gone.output, HasSubstr("--teacher: "));
}

TEST_F(ReplayRuns, DetectAnomalyKeepsTheStepToo) {
  std::filesystem::copy(path("r/model"), path("broken2"));
  set_last_weight("broken2/model.safetensors", kInfinity);
  const Ended failed = bert_train(
      "data.csv --model broken2 --batch 4 --max-length 32 --store b.sqlite --detect-anomaly --run "
      "anomaly");
  EXPECT_EQ(failed.code, 70) << failed.output;
  EXPECT_THAT(failed.output, AllOf(HasSubstr("the activation classifier is the first"),
                                   HasSubstr("`bert_train replay anomaly/bug/step-1`")));
  EXPECT_THAT(bert_train("replay anomaly/bug/step-1").output,
              HasSubstr("the first value that is not finite: the weight classifier.weight"));
}

TEST_F(ReplayRuns, MistakesHaveOneLineAndAHint) {
  const Ended run = bert_train("replay r");
  EXPECT_EQ(run.code, 66) << run.output;
  EXPECT_THAT(run.output, HasSubstr("cannot read r/step.json"));
  const Ended none = bert_train("replay tmp");
  EXPECT_EQ(none.code, 66) << none.output;
  EXPECT_THAT(none.output, AllOf(HasSubstr("tmp is not the folder of a step that failed"),
                                 HasSubstr("hint: bert_train names the folder")));
}

}  // namespace
}  // namespace bp::test
