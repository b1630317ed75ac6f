// Compares a small model of each family with transformers 5.24.0. The weights are a formula, so
// that no file is needed; the numbers below are what transformers computes of the same formula in
// fp32. Longer than 400 lines, because each case is about all families.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/text.h"
#include "tests/support/refusal.h"
#include "tests/unit/data/input_refusal.h"
#include "tests/unit/model/golden_tensors.h"
#include "tests/unit/model/small_families.h"
#include "trainer/model/bert.h"
#include "trainer/model/families/family.h"
#include "trainer/model/files/json_reading.h"
#include "trainer/model/files/safetensors.h"
#include "trainer/model/files/tokenizer_config.h"
#include "trainer/model/weights.h"
#include "trainer/tasks/classify/class_config.h"
#include "trainer/tasks/classify/classifier_head.h"
#include "trainer/train/methods/freeze.h"

namespace bp::trainer {
namespace {

using bp::test::error_of;
using bp::test::refusal_of;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class Families : public ::testing::TestWithParam<SmallModel> {
 protected:
  [[nodiscard]] static std::string text(const std::string& more = "") {
    return GetParam().text(more);
  }
  [[nodiscard]] static EncoderSpec spec() { return GetParam().spec(); }
  [[nodiscard]] static Batch batch() { return GetParam().batch(); }
  [[nodiscard]] static std::unique_ptr<Bert> model() {
    auto model = std::make_unique<Bert>(spec(), make_classifier_head, Precision::fp32, 1);
    set_by_formula(*model);
    return model;
  }
  [[nodiscard]] static Batch row(int number) {
    const Batch both = batch();
    const auto r = static_cast<std::size_t>(number);
    Batch one;
    one.rows = 1;
    one.length = both.lengths[r];
    const auto begin = both.token_ids.begin() + std::ptrdiff_t{number} * both.length;
    one.token_ids.assign(begin, begin + one.length);
    one.lengths = {both.lengths[r]};
    one.arrays = {{.integers = {both.arrays[0].integers[r]}}};
    one.sample_ids = {both.sample_ids[r]};
    return one;
  }
};

// docs/features.md, Models and losses: RoBERTa, XLM-RoBERTa, CamemBERT, DistilBERT, ELECTRA,
// MPNet, ALBERT, ModernBERT, DeBERTa-v2 and v3, BART | `--model`
TEST_P(Families, HaveTheNumbersOfTransformers) {
  const auto model = this->model();
  const TrainingStep step{1, 1};
  const at::Tensor logits = model->forward(batch(), &step);
  for (std::size_t i = 0; i < GetParam().logits.size(); ++i) {
    EXPECT_NEAR(logits.const_data_ptr<float>()[i], GetParam().logits[i], 2e-6) << i;
  }
  const at::Tensor loss = model->loss(logits, batch()).mean;
  EXPECT_NEAR(loss.item<double>(), GetParam().loss, 2e-6);
  loss.backward();
  double squares = 0;
  for (const auto& [name, parameter] : model->parameters()) {
    ASSERT_TRUE(parameter.grad().defined()) << name;
    squares += parameter.grad().to(at::kDouble).square().sum().item<double>();
  }
  EXPECT_NEAR(std::sqrt(squares), GetParam().gradient, 1e-5 * GetParam().gradient);
  const at::Tensor states = model->hidden_states(batch());
  for (std::size_t i = 0; i < GetParam().first.size(); ++i) {
    EXPECT_NEAR(states.const_data_ptr<float>()[i], GetParam().first[i], 2e-6) << i;
  }
  EXPECT_NEAR(states.to(at::kDouble).sum().item<double>(), GetParam().sum, 1e-4);
  EXPECT_NEAR(states.to(at::kDouble).abs().sum().item<double>(), GetParam().absolute, 1e-3);
}

// A head multiplies one row or two, of which LibTorch adds up the products in different orders.
TEST_P(Families, ARowHasTheSameBitsAloneAndAmongLongerOnes) {
  const auto model = this->model();
  const at::Tensor both = model->hidden_states(batch());
  const at::Tensor logits = model->forward(batch(), nullptr);
  std::int64_t begin = 0;
  for (int number = 0; number < 2; ++number) {
    const at::Tensor alone = model->hidden_states(row(number));
    EXPECT_TRUE(at::equal(alone, both.slice(0, begin, begin + alone.size(0)))) << number;
    begin += alone.size(0);
    EXPECT_TRUE(at::allclose(model->forward(row(number), nullptr)[0], logits[number], 1e-6, 1e-7));
  }
}

TEST_P(Families, ATypeOfATokenChangesNothingWithoutATableOfThem) {
  const auto model = this->model();
  Batch typed = row(0);
  typed.token_types = {0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1};
  const bool same = at::equal(model->forward(typed, nullptr), model->forward(row(0), nullptr));
  EXPECT_EQ(same, !spec().has_types());
}

// Returns the texts of a model's folder by the names of the files.
std::map<std::string, std::string> files_of(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    std::ifstream in(file.path(), std::ios::binary);
    files[file.path().filename()] = {std::istreambuf_iterator<char>(in), {}};
  }
  return files;
}

TEST_P(Families, SurviveTheirFolders) {
  const std::string folder = ::testing::TempDir() + concat("bp_families_", ::getpid());
  const NamedTexts tokenizer = tokenizer_files({{"[PAD]", "[UNK]"}}, {.max_length = 38});
  const auto before = model();
  save_model(*before, tokenizer, folder + "/a");
  const EncoderSpec read = read_config(folder + "/a/config.json");
  EXPECT_EQ(read, before->config());
  Bert after(read, make_classifier_head, Precision::fp32, 2);
  load_saved(after, folder + "/a");
  EXPECT_TRUE(at::equal(after.forward(batch(), nullptr), before->forward(batch(), nullptr)));
  save_model(after, tokenizer, folder + "/b");
  EXPECT_EQ(files_of(folder + "/a"), files_of(folder + "/b"));
  std::filesystem::remove_all(folder);
}

TEST_P(Families, RefuseWhatChangesTheResultByName) {
  const auto refusal = [](const std::string& more) {
    return refusal_of([&] { return parse_config(text(more)); });
  };
  for (const ConstantKey& key : family_of(spec()).constants) {
    if (std::holds_alternative<bool>(key.value)) continue;
    const auto* const text = std::get_if<const char*>(&key.value);
    const std::string wanted =
        text != nullptr ? in_quotes(*text) : std::to_string(std::get<int>(key.value));
    EXPECT_EQ(refusal(concat(", \"", key.name, "\": \"gelu_new\"")),
              concat(key.name, " is 'gelu_new'; bp supports only ", wanted));
    EXPECT_EQ(refusal(concat(", \"", key.name, "\": 7")),
              concat(key.name, " is 7; bp supports only ", wanted));
  }
  EXPECT_EQ(refusal(R"(, "is_decoder": true)"),
            "is_decoder is set, but bp does not support such models");
  for (const char* key : family_of(spec()).unsupported) {
    EXPECT_THAT(refusal(concat(", \"", key, "\": true")), HasSubstr(key));
  }
  for (const ConfigKey& key : family_of(spec()).keys) {
    EXPECT_THAT(refusal(concat(", \"", key.name, "\": -1")), HasSubstr(key.name));
    if (!key.required) continue;
    Json without = Json::parse(text());
    without.erase(key.name);
    EXPECT_EQ(refusal_of([&] { return parse_config(without.dump()); }),
              concat("'", key.name, "' is missing"));
  }
}

TEST_P(Families, AdaptersHaveTheNamesOfPeft) {
  EXPECT_EQ(usual_targets(spec()), GetParam().lora_targets);
  LoraConfig lora{.rank = 2, .targets = GetParam().lora_targets, .modules_to_save = {"classifier"}};
  const Bert model(spec(), make_classifier_head, Precision::fp32, 1, lora);
  int adapters = 0;
  for (const auto& [name, parameter] : model.parameters()) adapters += is_adapter(name) ? 1 : 0;
  constexpr int kMatrices = 2;
  const int targets = static_cast<int>(GetParam().lora_targets.size());
  const int attentions = spec().own_layers() + spec().decoder_layers;
  EXPECT_EQ(adapters, attentions * targets * kMatrices);
  lora.targets = {"proj"};
  EXPECT_THAT(refusal_of([&] { check(lora, spec()); }), HasSubstr("'proj'"));
}

TEST_P(Families, ComputeNearlyTheSameInHalfPrecision) {
  const TrainingStep step{1, 1};
  const at::Tensor right = model()->forward(batch(), &step);
  for (const auto& [precision, rounding] :
       {std::pair{Precision::bf16, 0x1p-8}, std::pair{Precision::fp16, 0x1p-11}}) {
    Bert half(spec(), make_classifier_head, precision, 1);
    set_by_formula(half);
    const at::Tensor logits = half.forward(batch(), &step);
    EXPECT_LE(relative_error(logits, right), 10 * rounding);
    EXPECT_GT(relative_error(logits, right), 0.01 * rounding) << "it must round";
    half.loss(logits, batch()).mean.backward();
    for (const auto& [name, parameter] : half.parameters()) {
      EXPECT_TRUE(parameter.grad().isfinite().all().item<bool>()) << name;
    }
  }
}

// A parameter that several layers use has the same sum of gradients, too.
TEST_P(Families, HaveTheSameGradientsWhenLayersAreComputedAgain) {
  const auto kept = model();
  const auto again = model();
  TrainingStep step{1, 1};
  kept->loss(kept->forward(batch(), &step), batch()).mean.backward();
  step.recomputed_layers = 2;
  again->loss(again->forward(batch(), &step), batch()).mean.backward();
  for (std::size_t i = 0; i < kept->parameters().size(); ++i) {
    const auto& [name, parameter] = kept->parameters()[i];
    EXPECT_TRUE(at::equal(parameter.grad(), again->parameters()[i].second.grad())) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Families, ::testing::ValuesIn(small_models()), name_of_family);

// Padding inside a text has the padding's position, and the tokens behind it count on without it.
TEST(Roberta, CountsPositionsWithoutPadding) {
  EncoderSpec spec = roberta().usual;
  spec.vocabulary = 9;
  spec.hidden = 8;
  spec.pad_id = 1;
  spec.positions = 8;
  spec.head = head_of({.labels = {"a", "b"}}, spec);
  const Bert model(spec, make_classifier_head, Precision::fp32, 1);
  Batch batch;
  batch.rows = 1;
  batch.length = 4;
  batch.token_ids = {0, 3, 1, 2};
  batch.lengths = {4};
  batch.arrays = {{.integers = {1}}};
  batch.sample_ids = {1};
  const TrainingStep step{1, 1};
  model.loss(model.forward(batch, &step), batch).mean.backward();
  for (const auto& [name, parameter] : model.parameters()) {
    if (!name.ends_with("position_embeddings.weight")) continue;
    const at::Tensor used = parameter.grad().abs().sum(1).gt(0);
    EXPECT_TRUE(at::equal(used, at::tensor({0, 1, 1, 1, 1, 0, 0, 0}).to(at::kBool))) << used;
  }
  batch.length = 7;
  batch.token_ids = {0, 3, 4, 5, 6, 7, 2};
  batch.lengths = {7};
  EXPECT_EQ(refusal_of([&] { return model.forward(batch, nullptr); }),
            "a sample of 7 tokens is longer than the model's 6 positions");
}

EncoderSpec albert_of(const std::string& more) {
  return parse_config(R"({"model_type": "albert", "vocab_size": 9, "hidden_size": 8,
                          "num_hidden_layers": 4, "num_attention_heads": 2,
                          "intermediate_size": 4, "embedding_size": 8)" +
                      more + "}");
}

TEST(Albert, HasAProjectionOfEmbeddingsOfAnyWidthAndOneLayersWeights) {
  EncoderSpec spec = albert_of("");
  spec.head = head_of({.labels = {"a", "b"}}, spec);
  const Bert model(spec, make_classifier_head, Precision::fp32, 1);
  std::vector<std::string> modules;
  for (const auto& [name, parameter] : model.parameters()) {
    if (name.ends_with(".bias") && !name.starts_with("albert.embeddings.")) {
      modules.push_back(name.substr(0, name.size() - 5));
    }
  }
  const std::string layer = "albert.encoder.albert_layer_groups.0.albert_layers.0.";
  EXPECT_EQ(modules, (std::vector<std::string>{
                         "albert.encoder.embedding_hidden_mapping_in", layer + "attention.qkv",
                         layer + "attention.dense", layer + "attention.LayerNorm", layer + "ffn",
                         layer + "ffn_output", layer + "full_layer_layer_norm", "albert.pooler",
                         "classifier"}));
}

TEST(Albert, HasOneRateForAllLayers) {
  EncoderSpec spec = albert_of("");
  spec.head = head_of({.labels = {"a", "b"}}, spec);
  const Bert model(spec, make_classifier_head, Precision::fp32, 1);
  TrainOptions options;
  EXPECT_EQ(parts_of(model, options).size(), 4U);  // embeddings, a layer, the pooler and the head
  options.layer_decay = 0.9;
  EXPECT_EQ(test::input_refusal([&] { (void)parts_of(model, options); }),
            "2: --layer-decay: the layers of a model of the family 'albert' share their weights, "
            "which have one rate | leave it out");
}

TEST(Albert, HasOneOfTwoActivations) {
  EXPECT_EQ(albert_of("").activation, Activation::gelu_tanh);
  EXPECT_EQ(albert_of(R"(, "hidden_act": "gelu")").activation, Activation::gelu);
  EXPECT_THAT(config_json(albert_of(R"(, "hidden_act": "gelu")")),
              HasSubstr("\"hidden_act\": \"gelu\""));
  EXPECT_EQ(refusal_of([] { return albert_of(R"(, "hidden_act": "relu")"); }),
            "'hidden_act' is 'relu'; it must be 'gelu' or 'gelu_new'");
}

EncoderSpec deberta_of(const std::string& key, const Json& value) {
  for (const SmallModel& model : small_models()) {
    if (model.family != "deberta-v2") continue;
    Json json = Json::parse(model.text());
    json[key] = value;
    return parse_config(json.dump());
  }
  return {};
}

TEST(Deberta, RefusesOtherAttentionByName) {
  const auto refusal = [](const char* key, const Json& value) {
    return refusal_of([&] { return deberta_of(key, value); });
  };
  EXPECT_EQ(refusal("position_biased_input", true),
            "position_biased_input is true; bp supports only false");
  EXPECT_EQ(refusal("relative_attention", false),
            "relative_attention is false; bp supports only true");
  EXPECT_EQ(refusal("share_att_key", nullptr), "share_att_key is null; bp supports only true");
  EXPECT_EQ(refusal("norm_rel_ebd", "none"),
            "norm_rel_ebd is 'none'; bp supports only 'layer_norm'");
  EXPECT_EQ(refusal("legacy", false), "legacy is false; bp supports only true");
  EXPECT_EQ(refusal("pos_att_type", Json::array({"p2c"})),
            "pos_att_type is a list; bp supports only 'p2c' and 'c2p' together");
  EXPECT_EQ(refusal("max_relative_positions", 39),
            "max_relative_positions is 39; bp supports only 40");
  EXPECT_EQ(refusal("pooler_hidden_size", 7), "pooler_hidden_size is 7; bp supports only 32");
  EXPECT_EQ(refusal("attention_head_size", 7), "attention_head_size is 7; bp supports only 8");
  EXPECT_EQ(refusal("cls_dropout", 1), "cls_dropout is 1; it must be at least 0 and below 1");
  EXPECT_EQ(refusal("position_buckets", 1), "position_buckets is 1; it must be at least 2");
  EXPECT_EQ(deberta_of("cls_dropout", 0.25).head_dropout(), 0.25);
  EXPECT_EQ(deberta_of("pos_att_type", Json::array({"c2p", "p2c"})).position_buckets, 8);
}

// Writes the weights in two files, and an index of them.
std::string write_shards(const Bert& model, const std::string& folder) {
  std::filesystem::create_directories(folder);
  const NamedTensors all = named_weights(model);
  std::vector<SafetensorsItem> items[2];
  Json index = Json::object();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& [name, values] = all[i];
    items[i % 2].push_back({name, "F32", values.sizes().vec(), values.const_data_ptr()});
    index["weight_map"][name] = concat("part-", i % 2, ".safetensors");
  }
  for (int part = 0; part < 2; ++part) {
    write_safetensors(concat(folder, "/part-", part, ".safetensors"), std::move(items[part]));
  }
  std::ofstream(folder + "/model.safetensors.index.json") << index.dump();
  return folder + "/model.safetensors.index.json";
}

TEST(ShardedWeights, AreLoadedAndBrokenOnesAreRefusedByName) {
  EncoderSpec spec;
  spec.vocabulary = 9;
  spec.hidden = 8;
  spec.head = head_of({.labels = {"a", "b"}});
  const Bert before(spec, make_classifier_head, Precision::fp32, 1);
  Bert after(spec, make_classifier_head, Precision::fp32, 2);
  const std::string folder = ::testing::TempDir() + concat("bp_shards_", ::getpid());
  const std::string index = write_shards(before, folder);
  const LoadReport report = load_weights(after, index);
  EXPECT_TRUE(report.complete());
  EXPECT_THAT(report.unexpected, IsEmpty());
  for (std::size_t i = 0; i < before.parameters().size(); ++i) {
    EXPECT_TRUE(at::equal(before.parameters()[i].second, after.parameters()[i].second));
  }
  const auto error = [&] { return error_of([&] { return load_weights(after, index); }); };
  const std::string part = folder + "/part-1.safetensors";
  std::filesystem::resize_file(part, std::filesystem::file_size(part) - 4);
  EXPECT_THAT(error(), AllOf(StartsWith("invalid_argument: "),
                             HasSubstr("part-1.safetensors is not a valid")));
  write_safetensors(part, {});
  EXPECT_THAT(error(), HasSubstr("part-1.safetensors: it lacks 'bert."));
  std::filesystem::remove(part);
  EXPECT_THAT(error(), HasSubstr("part-1.safetensors: No such file"));
  std::ofstream(index) << R"({"weight_map": {"x": "../y.safetensors"}})";
  EXPECT_THAT(error(), HasSubstr("the file of 'x' is '../y.safetensors'"));
  std::ofstream(index) << "{}";
  EXPECT_THAT(error(), HasSubstr("index.json: 'weight_map' is not an object"));
  std::filesystem::remove_all(folder);
}

TEST(Roberta, ReadsAFileOfTheEncoderAlone) {
  EncoderSpec spec = roberta().usual;
  spec.vocabulary = 9;
  spec.hidden = 8;
  spec.head = head_of({.labels = {"a", "b"}}, spec);
  const Bert before(spec, make_classifier_head, Precision::fp32, 1);
  Bert after(spec, make_classifier_head, Precision::fp32, 2);
  std::vector<SafetensorsItem> items;
  for (const auto& [name, values] : named_weights(before)) {
    const bool of_encoder = name.starts_with("roberta.");
    items.push_back({"_orig_mod." + (of_encoder ? name.substr(8) : name), "F32",
                     values.sizes().vec(), values.const_data_ptr()});
  }
  const std::string file = ::testing::TempDir() + concat("bp_roberta_", ::getpid());
  write_safetensors(file, std::move(items));
  const LoadReport report = load_weights(after, file);
  EXPECT_TRUE(report.complete());
  EXPECT_THAT(report.unexpected, IsEmpty());
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace bp::trainer
