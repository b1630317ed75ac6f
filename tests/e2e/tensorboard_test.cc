// --tensorboard, read by TensorBoard's own reader. BP_TENSORBOARD_PYTHON names a Python that has it
// (pip install tensorboard setuptools); otherwise it is python3.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

#include "tests/e2e/trained_run.h"
#include "tests/support/places.h"

namespace bp::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class TensorBoard : public TrainedRun {
 protected:
  static std::string python() {
    const char* const named = std::getenv("BP_TENSORBOARD_PYTHON");
    return named == nullptr ? "python3" : named;
  }
  static bool is_installed() {
    const std::string reader = " -m tensorboard.backend.event_processing.event_accumulator";
    return in_folder(python() + reader).code == 0;
  }
  static nlohmann::json events(const std::string& folder) {
    return nlohmann::json::parse(output_of(
        concat(python(), " " + kSourceDir + "/tests/e2e/read_events.py ", folder, " 2>/dev/null")));
  }
};

// A run is stopped, resumed from a checkpoint before its last logged step, and has each step once.
// docs/acceptance.md, Runs: TensorBoard reads the event files. A resumed run has each step once.
// docs/features.md, Evaluation and reports: TensorBoard | `--tensorboard`
TEST_F(TensorBoard, ReadsARunThatWasResumed) {
  if (!is_installed()) GTEST_SKIP() << "tensorboard is not installed";
  const std::string options =
      "data.csv --model tiny --batch 8 --max-length 32 --eval-every 10 --save-every 5 "
      "--keep 9 --run s --tensorboard tb ";
  const Ended begun = bert_train(options + "--steps 24");
  ASSERT_EQ(begun.code, 0) << begun.output;
  // What a kill after step 24 leaves behind: the newest checkpoint that is complete is that of
  // step 15.
  for (const char* later : {"20", "24"}) {
    std::filesystem::remove_all(path(concat("s/checkpoints/step-", later)));
  }
  std::filesystem::remove(path("s/checkpoints/latest"));
  std::filesystem::remove(path("s/checkpoints/best"));
  std::filesystem::remove(path("s/report.html"));
  const Ended resumed = bert_train(options + "--steps 24 --resume s/checkpoints/step-15");
  ASSERT_EQ(resumed.code, 0) << resumed.output;

  const nlohmann::json read = events("tb");
  std::multiset<int> steps;
  for (const auto& point : read["scalars"]["train/loss"]) steps.insert(point[0].get<int>());
  EXPECT_EQ(steps.size(), 24U);
  for (int step = 1; step <= 24; ++step) EXPECT_EQ(steps.count(step), 1U) << step;
  EXPECT_EQ(read["scalars"]["dev/accuracy"].size(), 3U);  // steps 10, 20 and 24

  const auto summary = nlohmann::json::parse(bp::test::read(path("s/summary.json")));
  EXPECT_FLOAT_EQ(read["scalars"]["test/accuracy"][0][1].get<float>(),
                  summary["test"]["accuracy"].get<float>());
  EXPECT_THAT(read["texts"]["settings"][1].get<std::string>(),
              AllOf(HasSubstr("| option | value | given by |"), HasSubstr("| steps | 24 |")));
  EXPECT_EQ(read["histograms"]["weights/classifier.weight"].size(), 3U);
  const auto& curve = read["curves"]["test/yes"];
  EXPECT_EQ(curve[0], 201);
  ASSERT_EQ(curve[1].size(), 6U);
  // At the threshold 0 every sample counts as predicted.
  const auto samples = curve[1][0][0].get<double>() + curve[1][1][0].get<double>();
  EXPECT_EQ(samples, 30);
}

TEST_F(TensorBoard, AFileThatCannotBeMadeEndsTheRunBeforeItTrains) {
  std::ofstream(path("file")) << "";
  const Ended ended =
      bert_train("data.csv --model tiny --max-length 32 --steps 1 --run u --tensorboard file/tb");
  EXPECT_EQ(ended.code, 70);
  EXPECT_THAT(ended.output, AllOf(HasSubstr("--tensorboard: cannot write in file/tb"),
                                  HasSubstr("hint: name a folder where you may write")));
}

}  // namespace
}  // namespace bp::test
