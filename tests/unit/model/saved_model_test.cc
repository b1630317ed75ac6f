// Tests what weights.h promises of weights on disk.
#include <ATen/core/Tensor.h>
#include <ATen/ops/equal.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/text.h"
#include "bp/error.h"
#include "tests/unit/data/full_disk.h"
#include "tests/unit/model/golden.h"
#include "trainer/model/bert.h"
#include "trainer/model/files/safetensors.h"
#include "trainer/model/files/tokenizer_config.h"
#include "trainer/model/weights.h"
#include "trainer/tasks/classify/classifier_head.h"

namespace bp::trainer {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SavedModel : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string folder_ = ::testing::TempDir() + concat("bp_model_", ::getpid());
};

TEST_F(SavedModel, RoundTripsBitForBit) {
  const std::string path = folder_ + "/model";
  Bert model(golden_config(0.1), make_classifier_head, Precision::fp32, 5);
  const NamedTexts tokenizer = tokenizer_files({{"[PAD]", "[UNK]", "a"}}, {false, 11});
  save_model(model, tokenizer, path);
  save_model(model, tokenizer, path);  // replaces the folder
  Bert again(read_config(path + "/config.json"), make_classifier_head, Precision::fp32, 6);
  const LoadReport report = load_weights(again, path + "/model.safetensors");
  EXPECT_TRUE(report.complete());
  for (std::size_t i = 0; i < model.parameters().size(); ++i) {
    EXPECT_TRUE(at::equal(model.parameters()[i].second, again.parameters()[i].second));
  }
  std::ifstream vocabulary(path + "/vocab.txt");
  std::string lines((std::istreambuf_iterator<char>(vocabulary)), {});
  EXPECT_EQ(lines, "[PAD]\n[UNK]\na\n");
  std::ifstream settings(path + "/tokenizer_config.json");
  std::string text((std::istreambuf_iterator<char>(settings)), {});
  EXPECT_THAT(text, HasSubstr("\"do_lower_case\": false"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1)
      << "save_model() must leave nothing but the model";
}

TEST_F(SavedModel, OnAFullDiskKeepsTheOldOneAndLeavesNoPart) {
  const Scratch scratch;
  const std::string path = scratch.path("model");
  const Bert model(golden_config(0.1), make_classifier_head, Precision::fp32, 5);
  Vocabulary vocabulary{{"[PAD]", "[UNK]", "a"}};
  const auto save = [&] { save_model(model, tokenizer_files(vocabulary, {false, 11}), path); };
  save();
  const std::string missing = ": File too large; about .* more are needed, .* are free there$";
  EXPECT_THAT(error_on_full_disk(scratch, 1000, save),
              ContainsRegex("^cannot write .*/model\\.part-[0-9]+/model\\.safetensors" + missing));
  const std::uintmax_t weights = std::filesystem::file_size(path + "/model.safetensors");
  vocabulary.tokens.assign(weights, "a");  // two bytes per token
  EXPECT_THAT(error_on_full_disk(scratch, weights, save),
              ContainsRegex("^cannot write .*/model\\.part-[0-9]+/vocab\\.txt" + missing));
  EXPECT_THAT(scratch.names(), ElementsAre("model"));
  EXPECT_EQ(read_file(path + "/vocab.txt"), "[PAD]\n[UNK]\na\n");
}

TEST_F(SavedModel, AFolderThatCannotBeMadeIsNamed) {
  const Bert model(golden_config(0.1), make_classifier_head, Precision::fp32, 5);
  const NamedTexts tokenizer = tokenizer_files({{"[PAD]", "[UNK]", "a"}}, {false, 11});
  const std::string file = folder_ + "/file";
  std::ofstream(file) << "kept";
  const std::string path = file + "/model";
  try {
    save_model(model, tokenizer, path);
    FAIL() << "the model was saved below a file";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::io);
    EXPECT_EQ(error.what(), concat("cannot save the model: filesystem error: cannot remove: Not a "
                                   "directory [",
                                   path, ".part-", ::getpid(), "]"));
  }
  EXPECT_EQ(read_file(file), "kept");
}

TEST_F(SavedModel, WeightsThatDoNotFitAreNamed) {
  const float numbers[4] = {1, 2, 3, 4};
  const std::string path = folder_ + "/x.safetensors";
  write_safetensors(path, {{"embeddings.LayerNorm.gamma", "F32", {4}, numbers},
                           {"classifier.weight", "F32", {2, 2}, numbers},
                           {"cls.predictions.bias", "F32", {1}, numbers}});
  Bert model(golden_config(0.1), make_classifier_head, Precision::fp32, 5);
  const LoadReport report = load_weights(model, path);
  EXPECT_FALSE(report.complete());
  EXPECT_THAT(report.unexpected, ElementsAre("cls.predictions.bias"));
  EXPECT_THAT(report.misshaped,
              ElementsAre("classifier.weight: [2, 2] in the file, [3, 24] here",
                          "embeddings.LayerNorm.gamma: [4] in the file, [24] here"));
  EXPECT_EQ(report.missing.size(), kGoldenParameters - 2);
}

// docs/acceptance.md, Models: Old names of weights, and weights in halves, are loaded.
TEST_F(SavedModel, OldNamesAndHalvesAreLoaded) {
  const std::vector<std::uint16_t> ones(24, 0x3f80);  // 1.0 in bf16
  const std::string path = folder_ + "/x.safetensors";
  write_safetensors(path, {{"embeddings.LayerNorm.beta", "BF16", {24}, ones.data()}});
  Bert model(golden_config(0.1), make_classifier_head, Precision::fp32, 5);
  EXPECT_EQ(load_weights(model, path).missing.size(), kGoldenParameters - 1);
  EXPECT_EQ(model.parameters()[4].first, "bert.embeddings.LayerNorm.bias");
  EXPECT_EQ(model.parameters()[4].second[7].item<float>(), 1.0F);
}

TEST_F(SavedModel, EveryFloatingPointTypeIsWidened) {
  const std::vector<double> doubles(24, 0.25);
  const std::vector<std::uint16_t> halves(24, 0xc000);  // -2
  const std::vector<std::uint8_t> bytes(24, 0x38);      // 1.0 as e4m3, 0.5 as e5m2
  const auto first_of = [&](const std::string& type, const void* values) {
    const std::string path = folder_ + "/x.safetensors";
    write_safetensors(path, {{"embeddings.LayerNorm.bias", type, {24}, values}});
    Bert model(golden_config(0.1), make_classifier_head, Precision::fp32, 5);
    EXPECT_EQ(load_weights(model, path).missing.size(), kGoldenParameters - 1);
    return model.parameters()[4].second[7].item<float>();
  };
  EXPECT_EQ(first_of("F64", doubles.data()), 0.25F);
  EXPECT_EQ(first_of("F16", halves.data()), -2.0F);
  EXPECT_EQ(first_of("F8_E4M3", bytes.data()), 1.0F);
  EXPECT_EQ(first_of("F8_E5M2", bytes.data()), 0.5F);
  try {
    (void)first_of("I32", doubles.data());
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("x.safetensors: 'embeddings.LayerNorm.bias' is of type I32; "
                          "weights must be of a floating-point type"));
  }
}

TEST_F(SavedModel, TwoNamesOfTheSameWeightAreRefused) {
  const std::vector<float> values(24, 1);
  const std::string path = folder_ + "/x.safetensors";
  write_safetensors(path, {{"embeddings.LayerNorm.beta", "F32", {24}, values.data()},
                           {"bert.embeddings.LayerNorm.bias", "F32", {24}, values.data()}});
  Bert model(golden_config(0.1), make_classifier_head, Precision::fp32, 5);
  try {
    (void)load_weights(model, path);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("are both bert.embeddings.LayerNorm.bias"));
  }
}

}  // namespace
}  // namespace bp::trainer
