// Adapters: the formula and PEFT's numbers (tests/golden/lora), the folder, and what is refused.
// docs/acceptance.md, Models: `peft` loads the adapters that bert_train writes, and computes the
// same numbers to 1e-5.
#include "trainer/model/lora.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "tests/support/places.h"
#include "tests/support/refusal.h"
#include "tests/unit/model/golden.h"
#include "tests/unit/model/golden_tensors.h"
#include "trainer/model/bert.h"
#include "trainer/model/files/tokenizer_config.h"
#include "trainer/model/parameters.h"
#include "trainer/model/pass.h"
#include "trainer/model/passes/layout.h"
#include "trainer/model/weights.h"
#include "trainer/tasks/classify/classifier_head.h"

namespace bp::trainer {
namespace {

using bp::test::refusal_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::string kLoraFolder = kSourceDir + "/tests/golden/lora";
const TrainingStep kLoraStep{1, 1};

LoraConfig golden_lora() { return read_adapter_config(kLoraFolder + "/adapter_config.json"); }

// The golden model, with new adapters or without.
std::unique_ptr<Bert> golden_model(const std::optional<LoraConfig>& lora, double dropout = 0) {
  auto model = std::make_unique<Bert>(golden_config(dropout), make_classifier_head, Precision::fp32,
                                      1, lora);
  EXPECT_TRUE(load_weights(*model, kGolden + "/model.safetensors").complete());
  return model;
}

class Lora : public ::testing::Test {
 protected:
  std::map<std::string, at::Tensor> expected_ = read_tensors(kLoraFolder + "/expected.safetensors");
  Batch batch_ = golden_batch(expected_);
};

// Compares a golden folder's adapters with PEFT's numbers. `trained`: the number of parameters.
void expect_pefts_numbers(const std::string& folder, LoraConfig config, std::size_t trained) {
  const std::map<std::string, at::Tensor> expected = read_tensors(folder + "/expected.safetensors");
  const Batch batch = golden_batch(expected);
  config.dropout = 0;
  const auto model = golden_model(config);
  const LoadReport report = load_adapters(*model, folder + "/adapter_model.safetensors");
  EXPECT_THAT(report.missing, IsEmpty());
  EXPECT_THAT(report.unexpected, IsEmpty());
  for (const TrainingStep* step : {static_cast<const TrainingStep*>(nullptr), &kLoraStep}) {
    EXPECT_TRUE(at::allclose(model->forward(batch, step), expected.at("logits"), 1e-5, 2e-6));
  }
  const at::Tensor loss = model->loss(model->forward(batch, &kLoraStep), batch).mean;
  EXPECT_NEAR(loss.item<float>(), expected.at("loss").item<float>(), 2e-6);
  loss.backward();
  for (const auto& [name, parameter] : model->parameters()) {
    const auto wanted = expected.find("grad." + name);
    EXPECT_EQ(parameter.grad().defined(), wanted != expected.end()) << name;
    if (wanted == expected.end() || !parameter.grad().defined()) continue;
    EXPECT_TRUE(at::allclose(parameter.grad(), wanted->second, 1e-4, 2e-6)) << name;
    --trained;
  }
  EXPECT_EQ(trained, 0U);
  model->merge_adapters();
  const at::Tensor merged = model->forward(batch, nullptr);
  EXPECT_LE((merged - expected.at("merged")).abs().max().item<float>(), 3e-6);
}

// docs/features.md, Models and losses: LoRA in PEFT's format, trained, loaded and merged |
// `--lora`, `--lora-alpha`, `--lora-dropout`, `--lora-targets`, `bert_train merge`
TEST_F(Lora, LogitsLossAndEveryGradientEqualPefts) {
  // A and B of 5 products in each of 2 layers and of the pooler; the head
  expect_pefts_numbers(kLoraFolder, golden_lora(), 24);
}

TEST_F(Lora, PatternsOfRanksAndAlphasAndRsLoraGivePeftsNumbers) {
  const std::string folder = kLoraFolder + "/patterns";
  LoraConfig config = read_adapter_config(folder + "/adapter_config.json");
  expect_pefts_numbers(folder, config, 28);
  config.targets = {kAllLinear};
  expect_pefts_numbers(folder, config, 28);
  EXPECT_EQ(parse_adapter_config(adapter_config_json(config)), config);
}

TEST_F(Lora, NewAdaptersChangeNoBit) {
  LoraConfig config = golden_lora();
  config.targets = {"query", "key", "value", "dense"};
  const auto base = golden_model({}, 0.1);
  const auto adapted = golden_model(config, 0.1);
  for (const TrainingStep* step : {static_cast<const TrainingStep*>(nullptr), &kLoraStep}) {
    EXPECT_TRUE(at::equal(adapted->forward(batch_, step), base->forward(batch_, step)));
  }
}

TEST_F(Lora, MergedEqualsUnmerged) {
  const auto model = golden_model(golden_lora());
  (void)load_adapters(*model, kLoraFolder + "/adapter_model.safetensors");
  const at::Tensor before = model->forward(batch_, nullptr);
  model->merge_adapters();
  EXPECT_EQ(model->lora(), nullptr);
  EXPECT_THAT(model->parameters(), SizeIs(golden_model({})->parameters().size()));
  const at::Tensor merged = model->forward(batch_, nullptr);
  EXPECT_LE((merged - before).abs().max().item<float>(), 1e-6);
  EXPECT_LE((merged - expected_.at("merged")).abs().max().item<float>(), 2e-6);
  EXPECT_TRUE(at::equal(model->forward(batch_, &kLoraStep), merged)) << "without casts of old ones";
}

TEST_F(Lora, AMatrixThatAPassUsesAgainHasAnotherMaskOfDropout) {
  const at::NoGradGuard no_grad;
  const auto layout = std::make_shared<const Layout>(make_layout({3}, {1}));
  const LoraConfig config{.rank = 2, .dropout = 0.5};
  Pass pass;
  pass.step = &kLoraStep;
  pass.lora = &config;
  Parameters parameters(1, 1, c10::kCPU);
  Linear linear = parameters.linear("x", 4, 8);
  Adapter adapter = parameters.adapter("x", 4, 8, config.rank);
  adapter.b.master.fill_(1);
  for (Weight* const weight : {&linear.weight, &adapter.a, &adapter.b}) {
    weight->compute = weight->master;
  }
  linear.adapters.push_back(adapter);
  const at::Tensor x = at::ones({layout->tokens, 8});
  const at::Tensor first = pass.product(layout, x, linear);
  EXPECT_TRUE(at::equal(pass.product(layout, x, linear), first));
  EXPECT_FALSE(at::equal(pass.product(layout, x, linear, 6), first));
}

// A is uniform in (-1 / sqrt(in), 1 / sqrt(in)), which has the deviation 1 / sqrt(3 in).
TEST_F(Lora, AIsKaimingUniformAndBZero) {
  LoraConfig config = golden_lora();
  config.rank = 64;
  const auto model = golden_model(config);
  for (const auto& [name, parameter] : model->parameters()) {
    if (name.ends_with("lora_B.weight")) {
      EXPECT_TRUE(at::equal(parameter, at::zeros_like(parameter))) << name;
    }
    if (!name.ends_with("lora_A.weight")) continue;
    const double bound = 1 / std::sqrt(static_cast<double>(parameter.size(1)));
    EXPECT_LE(parameter.abs().max().item<double>(), bound) << name;
    EXPECT_GE(parameter.abs().max().item<double>(), 0.98 * bound) << name;
    EXPECT_NEAR(parameter.std().item<double>(), bound / std::sqrt(3), 0.03 * bound) << name;
    EXPECT_NEAR(parameter.mean().item<double>(), 0, 0.05 * bound) << name;
  }
}

TEST_F(Lora, DropoutOfAdaptersIsTheirOwn) {
  LoraConfig config = golden_lora();
  config.dropout = 0.5;
  const auto model = golden_model(config);
  (void)load_adapters(*model, kLoraFolder + "/adapter_model.safetensors");
  const at::Tensor evaluated = model->forward(batch_, nullptr);
  const at::Tensor first = model->forward(batch_, &kLoraStep);
  EXPECT_TRUE(at::equal(first, model->forward(batch_, &kLoraStep)));
  EXPECT_GT((first - evaluated).abs().max().item<float>(), 1e-3);
  const TrainingStep next{1, 2};
  EXPECT_GT((first - model->forward(batch_, &next)).abs().max().item<float>(), 1e-3);
}

TEST_F(Lora, AFolderRoundTripsBitForBit) {
  const std::string folder = ::testing::TempDir() + concat("bp_lora_", ::getpid());
  LoraConfig config = golden_lora();
  config.base_hash = "0f";
  const auto model = golden_model(config);
  (void)load_adapters(*model, kLoraFolder + "/adapter_model.safetensors");
  save_model(*model, tokenizer_files({{"[PAD]", "[UNK]"}}, {true, 11}), folder);
  EXPECT_FALSE(std::filesystem::exists(folder + "/model.safetensors"));
  LoraConfig read = read_adapter_config(folder + "/adapter_config.json");
  EXPECT_EQ(base_hash_in(folder + "/adapter_base.json"), "0f");
  read.base_hash = "0f";
  EXPECT_EQ(read, *model->lora());
  const auto again = golden_model(read);
  load_saved(*again, folder);
  EXPECT_TRUE(at::equal(again->forward(batch_, nullptr), model->forward(batch_, nullptr)));
  const auto golden = read_tensors(kLoraFolder + "/adapter_model.safetensors");
  const auto written = read_tensors(folder + "/adapter_model.safetensors");
  EXPECT_EQ(written.size(), golden.size());
  for (const auto& [name, values] : golden) {
    ASSERT_TRUE(written.contains(name)) << name;
    EXPECT_TRUE(at::equal(written.at(name), values)) << name;
  }
  std::filesystem::remove_all(folder);
}

TEST(LoraConfigTest, TargetsAreEndsOfModulesNames) {
  LoraConfig config{.rank = 1, .targets = {"output.dense", "ry"}};
  EXPECT_TRUE(config.adapts("bert.encoder.layer.0.attention.output.dense"));
  EXPECT_TRUE(config.adapts("bert.encoder.layer.0.output.dense"));
  EXPECT_FALSE(config.adapts("bert.encoder.layer.0.intermediate.dense"));
  EXPECT_FALSE(config.adapts("bert.encoder.layer.0.attention.self.query"));
  config.modules_to_save = {"classifier", "pooler"};
  EXPECT_TRUE(config.saves("classifier.bias"));
  EXPECT_TRUE(config.saves("bert.pooler.dense.weight"));
  EXPECT_TRUE(config.saves("pre_classifier.weight"));
  EXPECT_TRUE(config.saves("bert.encoder.layer.0.output.dense.lora_A.weight"));
  EXPECT_FALSE(config.saves("bert.encoder.layer.0.output.dense.weight"));
}

TEST(LoraConfigTest, RefusesWhatItDoesNotCompute) {
  const auto refused = [](const std::string& keys) {
    return refusal_of([&] { return parse_adapter_config("{" + keys + "}"); });
  };
  EXPECT_THAT(refused(""), HasSubstr("peft_type is"));
  EXPECT_EQ(refused(R"("peft_type": "IA3", "r": 2)"),
            "peft_type is 'IA3'; bp supports only 'LORA'");
  const std::string lora = R"("peft_type": "LORA", "r": 2, "target_modules": ["query"])";
  EXPECT_EQ(refused(lora + R"(, "use_dora": true)"),
            "use_dora is true; bp does not support such adapters");
  EXPECT_THAT(refused(lora + R"(, "bias": "all")"), HasSubstr("bias is 'all'"));
  EXPECT_EQ(refused(lora + R"(, "rank_pattern": {"quer[yz]": 4})"),
            "'rank_pattern' holds 'quer[yz]'; bp supports only ends of names");
  EXPECT_EQ(refused(lora + R"(, "rank_pattern": {"query": 0.5})"),
            "'rank_pattern.query' is 0.5; it must be a whole number from 1");
  EXPECT_EQ(refused(lora + R"(, "alpha_pattern": {"query": "4"})"),
            "'alpha_pattern.query' is '4'; it must be a number");
  EXPECT_THAT(refused(lora + R"(, "alpha_pattern": [4])"), HasSubstr("is a list, not an object"));
  EXPECT_THAT(refused(lora + R"(, "init_lora_weights": "pissa")"), HasSubstr("pissa"));
  EXPECT_THAT(refused(R"("peft_type": "LORA", "r": 0)"), HasSubstr("'r' is 0"));
  EXPECT_THAT(refused(R"("peft_type": "LORA", "r": 2, "target_modules": 7)"),
              HasSubstr("not a list of names"));
  EXPECT_THAT(refused(R"("peft_type": "LORA", "r": 2, "target_modules": ".*(query")"),
              HasSubstr("'target_modules' is '.*(query'; bp reads no such regular expression"));
  EXPECT_EQ(parse_adapter_config(R"({"peft_type": "LORA", "r": 4, "target_modules": "all-linear"})")
                .targets,
            std::vector<std::string>({kAllLinear}));
}

// PEFT calls re.fullmatch() with it and each name.
TEST(LoraConfigTest, ATextOfTargetsIsAPatternOfWholeNames) {
  const LoraConfig config = parse_adapter_config(
      R"json({"peft_type": "LORA", "r": 4, "target_modules": ".*layer\\.[01]\\..*(query|value)"})json");
  EXPECT_TRUE(config.adapts("bert.encoder.layer.1.attention.self.query"));
  EXPECT_TRUE(config.adapts("bert.encoder.layer.0.attention.self.value"));
  EXPECT_FALSE(config.adapts("bert.encoder.layer.1.attention.self.key"));
  EXPECT_FALSE(config.adapts("bert.encoder.layer.11.attention.self.query"));
  EXPECT_FALSE(config.adapts("bert.encoder.layer.1.attention.self.query.more"));
  EXPECT_EQ(parse_adapter_config(adapter_config_json(config)), config);
  EXPECT_NO_THROW(check(config, EncoderSpec()));
  LoraConfig none = config;
  none.target_pattern = "query";
  EXPECT_EQ(refusal_of([&] { check(none, EncoderSpec()); }), "no module's name matches 'query'");
}

TEST_F(Lora, APatternOfTargetsGivesPeftsNumbers) {
  LoraConfig config = golden_lora();
  config.targets.clear();
  config.target_pattern = R"(bert\..*\.(query|value|dense))";
  expect_pefts_numbers(kLoraFolder, config, 24);
}

TEST(LoraConfigTest, TheFirstPatternThatFitsCounts) {
  const LoraConfig config = parse_adapter_config(
      R"({"peft_type": "LORA", "r": 4, "lora_alpha": 6, "target_modules": ["query", "dense"],
          "rank_pattern": {"layer\\.1\\.attention.self.query": 9, "query": 16},
          "alpha_pattern": {"y": 1, "query": 8, "layer.1.attention.self.query": 2}})");
  const std::string layer = "bert.encoder.layer.";
  EXPECT_EQ(config.rank_of(layer + "1.attention.self.query"), 9);
  EXPECT_EQ(config.rank_of(layer + "11.attention.self.query"), 16);
  EXPECT_EQ(config.rank_of(layer + "1.output.dense"), 4);
  EXPECT_EQ(config.scale_of(layer + "1.attention.self.query"), 8.0 / 9);
  EXPECT_EQ(config.scale_of(layer + "1.output.dense"), 6.0 / 4);
  LoraConfig stabilized = config;
  stabilized.rank_stabilized = true;
  EXPECT_EQ(stabilized.scale_of(layer + "1.attention.self.query"), 8.0 / 3);
}

// PEFT's "all-linear" lists the products of the head, which it saves whole.
TEST(LoraConfigTest, ProductsOfWhatIsSavedWholeMayBeTargets) {
  LoraConfig config{.rank = 1, .targets = {"query", "classifier.dense"}};
  EXPECT_THAT(refusal_of([&] { check(config, EncoderSpec()); }), HasSubstr("classifier.dense"));
  config.modules_to_save = {"classifier", "score"};
  EXPECT_NO_THROW(check(config, EncoderSpec()));
}

TEST(LoraConfigTest, ATargetThatFitsNothingIsRefusedWithTheNearest) {
  EXPECT_EQ(refusal_of([] { check(LoraConfig{.rank = 1, .targets = {"querry"}}, EncoderSpec()); }),
            "no module's name ends with 'querry'; did you mean 'query'?");
  EXPECT_NO_THROW(check(LoraConfig{.rank = 1, .targets = {"pooler.dense", "layer.1.output.dense"}},
                        EncoderSpec()));
  EXPECT_THAT(refusal_of([] {
                check(LoraConfig{.rank = 1, .targets = {"layer.2.output.dense"}}, EncoderSpec());
              }),
              HasSubstr("no module's name ends with"));
}

}  // namespace
}  // namespace bp::trainer
