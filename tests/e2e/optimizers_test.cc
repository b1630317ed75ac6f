// Every optimizer, some with a schedule of their own, through the program that users run: it
// learns, trains the same model on any layout of ranks, and continues to the same bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <ostream>
#include <string>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "tests/e2e/model_difference.h"
#include "tests/e2e/shell_folder.h"
#include "tests/support/places.h"

namespace bp::trainer {
namespace {

using test::Ended;
using test::read;
using ::testing::HasSubstr;

struct OptimizerCase {
  std::string name;
  std::string options;
  std::string lr;           // that learns
  std::string layouts;      // options of runs that all layouts train the same
  double tolerance = 2e-5;  // of their weights
};
void PrintTo(const OptimizerCase& one, std::ostream* out) { *out << one.name; }

class Optimizers : public test::FolderTest<::testing::TestWithParam<OptimizerCase>> {
 protected:
  void SetUp() override {
    std::ofstream file(path("colours.csv"));
    file << "text,label\n";
    for (int row = 0; row < 600; ++row) {
      file << "the stone " << row % 7 << (row % 3 == 0 ? " is red " : " looks blue ") << row % 5
           << (row % 3 == 0 ? ",warm\n" : ",cold\n");
    }
  }
  void train(const std::string& run, const std::string& options, const std::string& placing = "") {
    const std::string program =
        placing.empty() ? kBinDir + "/bert_train " : kBinDir + "/bprun " + placing + " bert_train ";
    (void)output_of(concat(program, "colours.csv --optimizer ", GetParam().options,
                           " --max-length 16 --run ", run, " ", options));
  }
};

TEST_P(Optimizers, LearnATask) {
  train("r", "--epochs 4 --batch 16 --lr " + GetParam().lr);
  const auto summary = nlohmann::json::parse(read(path("r/summary.json")));
  EXPECT_GE(summary["test"]["accuracy"].get<double>(), 0.98);
}

// docs/acceptance.md, Training: Each optimizer and schedule trains one model on any layout of
// ranks.
TEST_P(Optimizers, TrainTheSameModelOnEachLayout) {
  const std::string common = concat("--dropout 0 --warmup 0 --steps 12 --eval-every 1000 ",
                                    GetParam().layouts, " --batch ");
  train("one", common + "32");
  train("four", common + "8", "-H localhost:3,127.0.0.1:1");
  EXPECT_LE(test::largest_difference(path("one/model/model.safetensors"),
                                     path("four/model/model.safetensors")),
            GetParam().tolerance);
  const auto loss = [this](const std::string& run) {
    return nlohmann::json::parse(read(path(run + "/summary.json")))["test"]["loss"].get<double>();
  };
  EXPECT_NEAR(loss("four"), loss("one"), 1e-4);
}

// docs/acceptance.md, Training: A run with each optimizer and schedule continues to the same bits.
TEST_P(Optimizers, ContinueToTheSameBits) {
  // Two ranks: rank 0 alone reads the checkpoint.
  const std::string common = "--batch 8 --steps 12 --save-every 6 --keep 3 ";
  train("whole", common, "-n 2");
  train("half", common + "--resume whole/checkpoints/step-6", "-n 2");
  EXPECT_TRUE(read(path("half/model/model.safetensors")) ==
              read(path("whole/model/model.safetensors")));
  const Ended other =
      in_folder(kBinDir +
                "/bert_train colours.csv --optimizer adamw --max-length 16 --run other "
                "--steps 12 --resume whole/checkpoints/step-6");
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(
      other.output,
      HasSubstr(concat("optimizer is ", GetParam().options.substr(0, GetParam().options.find(' ')),
                       " in the checkpoint, adamw here")));
}

INSTANTIATE_TEST_SUITE_P(
    All,
    Optimizers,
    ::testing::Values(
        OptimizerCase{"adam", "adam --weight-decay 0 --schedule inverse-sqrt", "1e-3",
                      "--lr 1e-4 --epsilon 1e-6"},
        OptimizerCase{"sgd", "sgd --weight-decay 0", "0.2", "--lr 0.1"},
        OptimizerCase{
            "momentum",
            "sgd --momentum 0.9 --nesterov --schedule step --decay-every 4 --decay-factor 0.9",
            "0.05", "--lr 0.02"},
        // The sign of a gradient that is almost 0 depends on the order of a sum. A weight with such
        // a gradient moves by --lr in each step, to one side or to the other. The loss shows that
        // the others agree.
        OptimizerCase{"lion", "lion", "2e-4", "--lr 1e-4", 2 * 12 * 1e-4},
        OptimizerCase{"lamb", "lamb --schedule polynomial --power 0.5 --end-lr 1e-4", "5e-3",
                      "--lr 1e-3 --epsilon 1e-4"},
        OptimizerCase{"adadelta", "adadelta --weight-decay 0", "1", "--lr 0.1"}),
    [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace bp::trainer
