// Adapters (--lora) through the program that users run: only they are trained, sent and saved, on
// any layout of ranks, and continue to the same bits; folders of adapters are used and merged.
// docs/acceptance.md, Models: `peft` loads the adapters that bert_train writes, and computes the
// same numbers to 1e-5.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "tests/e2e/model_difference.h"
#include "tests/e2e/trained_run.h"
#include "tests/support/places.h"

namespace bp::trainer {
namespace {

namespace fs = std::filesystem;
using test::Ended;
using test::read;
using ::testing::HasSubstr;

// The base is the model of the run r.
class LoraRuns : public test::TrainedRun {
 protected:
  static std::string command(const std::string& options, const std::string& placing = "") {
    const std::string program =
        placing.empty() ? kBinDir + "/bert_train " : kBinDir + "/bprun " + placing + " bert_train ";
    return concat(program, "other.csv --model r/model --max-length 32 ", options);
  }
  static nlohmann::json summary_of(const std::string& run) {
    return nlohmann::json::parse(read(path(run + "/summary.json")));
  }
  static std::string adapters_of(const std::string& run) {
    return path(run + "/model/adapter_model.safetensors");
  }
  // Returns the probabilities in a file of predictions.
  static std::vector<double> numbers_in(const std::string& file) {
    std::vector<double> numbers;
    const std::string text = read(path(file));
    const std::regex decimal("0\\.[0-9]+");
    for (std::sregex_iterator at(text.begin(), text.end(), decimal), end; at != end; ++at) {
      numbers.push_back(std::stod(at->str()));
    }
    return numbers;
  }
};

// docs/features.md, Models and losses: LoRA in PEFT's format, trained, loaded and merged |
// `--lora`, `--lora-alpha`, `--lora-dropout`, `--lora-targets`, `bert_train merge`
TEST_F(LoraRuns, AdaptersAloneAreTrainedSentAndSavedTheSameOnEachLayout) {
  const std::string common =
      "--lora 4 --lora-targets query,value,output.dense --dropout 0 --warmup 0 --steps 8 "
      "--eval-every 4 ";
  const std::string said = output_of(command(common + "--batch 32 --run one"));
  (void)output_of(command(common + "--batch 8 --run four", "-H localhost:3,127.0.0.1:1"));
  EXPECT_LE(test::largest_difference(adapters_of("one"), adapters_of("four")), 2e-5);
  EXPECT_NEAR(summary_of("four")["test"]["loss"].get<double>(),
              summary_of("one")["test"]["loss"].get<double>(), 1e-5);

  // 2 layers of 4 products (128 to 128, or 512 to 128) with rank 4, and the head of 2 labels:
  // "output.dense" is the end of two names.
  constexpr int kTrained = 2 * 4 * (3 * (128 + 128) + (512 + 128)) + 2 * 128 + 2;
  EXPECT_THAT(said, HasSubstr("adapters of rank 4: 11,522 of "));
  static_assert(kTrained == 11522);
  // Beside them, a step sends what it does for any model: the last bucket's loss, weight and stop.
  (void)output_of(
      command("--dropout 0 --steps 8 --batch 8 --eval-every 100 --freeze embeddings,encoder,pooler "
              "--run head",
              "-H localhost:3,127.0.0.1:1"));
  const auto bytes = [](const std::string& run) {
    return summary_of(run)["comm"]["bytes"].get<double>();
  };
  constexpr int kHead = 2 * 128 + 2;
  const double of_number = (bytes("four") - bytes("head")) / (kTrained - kHead);
  EXPECT_NEAR(of_number * kHead, bytes("head"), 0.3 * bytes("head"));

  EXPECT_FALSE(fs::exists(path("four/model/model.safetensors")));
  EXPECT_FALSE(fs::exists(path("four/checkpoints/latest/model.safetensors")));
  EXPECT_LT(fs::file_size(adapters_of("four")), 4 * kTrained + 4096U);
  EXPECT_LT(fs::file_size(path("four/checkpoints/latest/optimizer.safetensors")),
            8 * kTrained + 8192U);
  const auto config = nlohmann::json::parse(read(path("four/model/adapter_config.json")));
  EXPECT_EQ(config["base_model_name_or_path"], fs::canonical(path("r/model")).string());
  EXPECT_EQ(config["modules_to_save"], nlohmann::json({"classifier"}));
  EXPECT_EQ(config["task_type"], "SEQ_CLS");
}

TEST_F(LoraRuns, ContinueToTheSameBitsAndKeepTheBest) {
  const std::string common =
      "--lora 4 --lora-dropout 0.2 --ema 0.8 --batch 8 --steps 8 --eval-every 4 --save-every 4 "
      "--keep 3 --final best ";
  (void)output_of(command(common + "--run whole", "-n 2"));
  (void)output_of(command(common + "--run half --resume whole/checkpoints/step-4", "-n 2"));
  const auto last = [](const std::string& run) {
    return read(path(run + "/checkpoints/step-8/adapter_model.safetensors"));
  };
  EXPECT_TRUE(last("half") == last("whole"));
  EXPECT_NE(last("whole"), "");
  EXPECT_TRUE(read(adapters_of("whole")) ==
              read(path("whole/checkpoints/best/adapter_model.safetensors")));
  const Ended other = in_folder(command("--lora 8 --run x --resume whole/checkpoints/step-4"));
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.output, HasSubstr("lora is 4 in the checkpoint, 8 here"));
}

TEST_F(LoraRuns, AFolderOfAdaptersIsScoredExportedAndMerged) {
  (void)output_of(command("--lora 4 --steps 8 --batch 8 --lr 1e-2 --run a"));
  (void)output_of(kBinDir + "/bert_train eval a --out scored.csv");
  EXPECT_EQ(read(path("scored.csv")), read(path("a/predictions.csv")));
  (void)output_of(kBinDir + "/bert_train merge a --out merged");
  (void)output_of(kBinDir + "/bert_train predict a data.csv --out adapted.csv");
  (void)output_of(kBinDir + "/bert_train predict merged data.csv --text text --out whole.csv");
  const std::vector<double> adapted = numbers_in("adapted.csv");
  const std::vector<double> whole = numbers_in("whole.csv");
  ASSERT_EQ(adapted.size(), whole.size());
  ASSERT_GT(adapted.size(), 300U);
  // The merged weights are rounded once more, and the numbers have 6 digits.
  for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(adapted[i], whole[i], 4.5e-6);
  EXPECT_GT(
      test::largest_difference(path("merged/model.safetensors"), path("r/model/model.safetensors")),
      1e-3);
  // What an export of the adapters holds is what one of the merged model holds.
  (void)output_of(kBinDir + "/bert_train export a --out a.onnx");
  (void)output_of(kBinDir + "/bert_train export merged --out merged.onnx");
  EXPECT_TRUE(read(path("a.onnx")) == read(path("merged.onnx")));

  const Ended again = in_folder(kBinDir + "/bert_train merge a --out merged");
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.output, HasSubstr("--out: merged exists already"));
  const Ended whole_again = in_folder(kBinDir + "/bert_train merge merged --out m2");
  EXPECT_EQ(whole_again.code, 2);
  EXPECT_THAT(whole_again.output, HasSubstr("merged holds a whole model and no adapters"));
  const Ended trained = in_folder(
      kBinDir + "/bert_train other.csv --model a/model --max-length 32 --run from-adapters");
  EXPECT_EQ(trained.code, 2);
  EXPECT_THAT(trained.output,
              HasSubstr("a/model holds adapters, and training starts from a whole"));

  // Another base, and none.
  fs::copy(path("r/model"), path("base"));
  std::ofstream(path("a/model/adapter_config.json"))
      << R"({"peft_type": "LORA", "r": 4, "target_modules": ["query", "value"],
             "modules_to_save": ["classifier"], "base_model_name_or_path": "base"})";
  (void)output_of(kBinDir + "/bert_train eval a");
  fs::copy(path("merged/model.safetensors"), path("base/model.safetensors"),
           fs::copy_options::overwrite_existing);
  const Ended different = in_folder(kBinDir + "/bert_train eval a");
  EXPECT_EQ(different.code, 65);
  EXPECT_THAT(different.output,
              HasSubstr("base/model.safetensors is not the model beside which the "
                        "adapters in a/model were trained"));
  fs::remove_all(path("base"));
  const Ended missing = in_folder(kBinDir + "/bert_train predict a data.csv");
  EXPECT_EQ(missing.code, 66);
  EXPECT_THAT(missing.output,
              HasSubstr("the base model 'base' of the adapters in a/model is not a folder"));
}

TEST_F(LoraRuns, OptionsThatHaveNoEffectAreRefused) {
  const auto refused = [](const std::string& options) {
    const Ended ended =
        in_folder(kBinDir + "/bert_train other.csv --max-length 32 --run no " + options);
    EXPECT_EQ(ended.code, 2) << ended.output;
    EXPECT_FALSE(fs::exists(path("no")));
    return ended.output;
  };
  EXPECT_THAT(refused("--lora 4"), HasSubstr("--lora adapts a trained model, and --model tiny has "
                                             "no weights"));
  EXPECT_THAT(refused("--model r/model --lora-alpha 8"),
              HasSubstr("--lora-alpha has no effect without --lora"));
  EXPECT_THAT(refused("--model r/model --lora 4 --lora-targets querry"),
              HasSubstr("--lora-targets: no module's name ends with 'querry'"));
  EXPECT_THAT(refused("--model r/model --lora 4 --freeze embeddings"),
              HasSubstr("--freeze embeddings has no effect: --lora trains nothing in it"));
}

}  // namespace
}  // namespace bp::trainer
