// BART beyond what all families have in common: its two stacks of layers, the keys of config.json
// that say how they compute, and the names of its embeddings. The numbers are those of transformers
// 5.23.0 for weights that are a formula (small_families.h).
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "tests/support/refusal.h"
#include "tests/support/scratch.h"
#include "tests/unit/model/expected_numbers.h"
#include "tests/unit/model/small_families.h"
#include "trainer/model/bert.h"
#include "trainer/model/config.h"
#include "trainer/model/files/safetensors.h"
#include "trainer/model/lora.h"
#include "trainer/model/weights.h"
#include "trainer/tasks/classify/classifier_head.h"

namespace bp::trainer {
namespace {

using bp::test::error_of;
using bp::test::refusal_of;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Other values than the usual ones in the keys that say how the model computes.
constexpr const char* kOthers = R"(, "encoder_layers": 1, "decoder_layers": 3,
    "scale_embedding": true, "activation_function": "gelu_new", "decoder_start_token_id": 4)";
constexpr const char* kDropout = R"(, "dropout": 0.3, "attention_dropout": 0.3,
    "activation_dropout": 0.3, "classifier_dropout": 0.3)";

const SmallModel& small() {
  static const std::vector<SmallModel> kAll = small_models();
  return *std::ranges::find(kAll, "bart", &SmallModel::family);
}

EncoderSpec spec_of(const std::string& more = "") {
  EncoderSpec spec = parse_config(small().text(more));
  spec.head = head_of({.labels = {"a", "b", "c"}}, spec);
  return spec;
}

// Texts of very different lengths.
Batch long_batch(std::vector<std::int32_t> lengths = {37, 5, 20}) {
  Batch batch;
  batch.rows = static_cast<int>(lengths.size());
  batch.length = 37;
  for (int row = 0; row < batch.rows; ++row) {
    const int length = lengths[static_cast<std::size_t>(row)];
    for (int place = 0; place < batch.length; ++place) {
      const int middle = place + 1 == length ? 2 : 5 + (17 * row + 7 * place) % 50;
      batch.token_ids.push_back(place == 0 ? 0 : place < length ? middle : 1);
    }
    batch.sample_ids.push_back(row);
  }
  batch.lengths = std::move(lengths);
  batch.arrays = {{.integers = {2, 0, 1}}};
  return batch;
}

TEST(Bart, HasTheNumbersOfTransformersForLongTextsAndOtherKeys) {
  expect_numbers(*model_of(spec_of(), make_classifier_head), long_batch(),
                 {.143104166F, .007170506F, .103369489F, -.067553036F, .012346968F, .068922505F,
                  .045237496F, .109069467F, .002654632F},
                 1.098841667, 1.487711261);
  expect_numbers(*model_of(spec_of(kOthers), make_classifier_head), long_batch(),
                 {.111564249F, .048504751F, .108655430F, .023132764F, -.016116910F, .028783489F,
                  .134557292F, .043719612F, -.015257939F},
                 1.092900753, 1.350206480);
}

TEST(Bart, AShortRowHasTheSameBitsAloneAndAmongLongOnes) {
  const auto model = model_of(spec_of(kOthers), make_classifier_head);
  const at::Tensor all = model->hidden_states(long_batch());
  const at::Tensor last = model->hidden_states(long_batch({37, 5}));
  EXPECT_TRUE(at::equal(last, all.slice(0, 0, 42)));
}

// The last layer computes only the state that the head reads, unless somebody wants all.
TEST(Bart, StatesAreInTheOrderOfTheText) {
  const auto model = model_of(spec_of(kOthers), make_classifier_head);
  const Batch batch = small().batch();
  const Bert::WithStates found = model->forward_with_states(batch, nullptr);
  EXPECT_EQ(found.states.size(), 5U);  // the embeddings', and those of each layer
  EXPECT_TRUE(at::allclose(found.outputs, model->forward(batch, nullptr), 1e-5, 1e-6));
  EXPECT_TRUE(at::equal(found.states.back().slice(0, 0, 17), model->hidden_states(batch)));
  EXPECT_TRUE(at::allclose(
      model->pooled(batch)[1],
      at::tanh(at::linear(found.states.back()[16], named_weights(*model).end()[-4].second,
                          named_weights(*model).end()[-3].second)),
      1e-5, 1e-6));
}

// With adapters, the states of the encoder have several gradients from each layer of the decoder.
TEST(Bart, ComputesLayersAgainWithTheSameGradients) {
  const LoraConfig lora{
      .rank = 2, .targets = {kAllLinear}, .modules_to_save = {"classification_head"}};
  for (const auto& adapters : {std::optional<LoraConfig>(), std::optional(lora)}) {
    Bert kept(spec_of(kDropout), make_classifier_head, Precision::fp32, 1, adapters);
    Bert again(spec_of(kDropout), make_classifier_head, Precision::fp32, 1, adapters);
    TrainingStep step{1, 1};
    kept.loss(kept.forward(long_batch(), &step), long_batch()).mean.backward();
    step.recomputed_layers = 2;
    again.loss(again.forward(long_batch(), &step), long_batch()).mean.backward();
    for (std::size_t i = 0; i < kept.parameters().size(); ++i) {
      const auto& [name, parameter] = kept.parameters()[i];
      if (!parameter.requires_grad()) continue;
      EXPECT_TRUE(at::equal(again.parameters()[i].second.grad(), parameter.grad())) << name;
    }
  }
}

TEST(Bart, DropsWhereEachKeySays) {
  const TrainingStep step{1, 1};
  const at::Tensor whole = model_of(spec_of(), make_classifier_head)->forward(long_batch(), &step);
  for (const char* key :
       {"dropout", "attention_dropout", "activation_dropout", "classifier_dropout"}) {
    const auto model = model_of(spec_of(concat(", \"", key, "\": 0.5")), make_classifier_head);
    EXPECT_FALSE(at::allclose(model->forward(long_batch(), &step), whole, 1e-3, 1e-3)) << key;
    EXPECT_TRUE(at::allclose(model->forward(long_batch(), nullptr), whole, 1e-5, 1e-6)) << key;
  }
}

// Both stacks read the words, so their gradient is the sum of two sparse tensors.
TEST(Bart, ItsSparseGradientHasTheNumbersOfADenseOne) {
  const auto dense = model_of(spec_of(), make_classifier_head);
  const auto sparse = model_of(spec_of(), make_classifier_head);
  sparse->use_sparse_gradients();
  EXPECT_THAT(sparse->sparse_gradients(), ElementsAre("model.shared.weight"));
  const TrainingStep step{1, 1};
  for (const auto& model : {dense.get(), sparse.get()}) {
    model->loss(model->forward(long_batch(), &step), long_batch()).mean.backward();
  }
  const at::Tensor of_words = sparse->parameters().front().second.grad();
  ASSERT_TRUE(of_words.is_sparse());
  EXPECT_TRUE(at::equal(of_words.to_dense(), dense->parameters().front().second.grad()));
}

// Writes the weights without the prefix of the encoder, and the tables of words under these names.
void write_encoder(const Bert& model,
                   const std::vector<std::pair<std::string, at::Tensor>>& words,
                   const std::string& path) {
  NamedTensors all = words;
  for (const auto& [name, values] : named_weights(model)) {
    if (name != "model.shared.weight" && name.starts_with("model.")) {
      all.emplace_back(name.substr(6), values);
    }
  }
  std::vector<SafetensorsItem> items;
  for (const auto& [name, values] : all) {
    items.push_back({name, "F32", values.sizes().vec(), values.const_data_ptr()});
  }
  write_safetensors(path, std::move(items));
}

TEST(Bart, LoadsItsWordsUnderEachOfTheirNames) {
  const Bert before(spec_of(), make_classifier_head, Precision::fp32, 1);
  const at::Tensor words = before.parameters().front().second;
  const Scratch scratch;
  const std::string path = scratch.path("weights");
  using Words = std::vector<std::pair<std::string, at::Tensor>>;
  for (const Words& names :
       {Words{{"shared.weight", words}}, Words{{"decoder.embed_tokens.weight", words}},
        Words{{"shared.weight", words},
              {"encoder.embed_tokens.weight", words},
              {"decoder.embed_tokens.weight", words}}}) {
    Bert after(spec_of(), make_classifier_head, Precision::fp32, 2);
    write_encoder(before, names, path);
    const LoadReport report = load_weights(after, path);
    EXPECT_THAT(report.unexpected, IsEmpty());
    EXPECT_THAT(
        report.missing,
        ElementsAre("classification_head.dense.bias", "classification_head.dense.weight",
                    "classification_head.out_proj.bias", "classification_head.out_proj.weight"));
    EXPECT_TRUE(at::equal(after.parameters().front().second, words));
  }
  write_encoder(
      before, {{"encoder.embed_tokens.weight", words}, {"decoder.embed_tokens.weight", words + 1}},
      path);
  Bert after(spec_of(), make_classifier_head, Precision::fp32, 2);
  EXPECT_THAT(error_of([&] { (void)load_weights(after, path); }),
              AllOf(HasSubstr("encoder.embed_tokens.weight"), HasSubstr("differs from"),
                    HasSubstr("decoder.embed_tokens.weight")));
}

TEST(Bart, RefusesOtherModelsByName) {
  const auto refusal = [](const std::string& more) {
    return refusal_of([&] { return spec_of(", " + more); });
  };
  EXPECT_EQ(refusal(R"("decoder_ffn_dim": 40)"), "decoder_ffn_dim is 40; bp supports only 48");
  EXPECT_EQ(refusal(R"("decoder_attention_heads": null)"),
            "decoder_attention_heads is null; bp supports only 4");
  EXPECT_EQ(refusal(R"("is_encoder_decoder": false)"),
            "is_encoder_decoder is false; bp supports only true");
  EXPECT_EQ(refusal(R"("tie_word_embeddings": false)"),
            "tie_word_embeddings is false; bp supports only true");
  EXPECT_EQ(refusal(R"("decoder_layerdrop": 0.1)"), "decoder_layerdrop is 0.1; bp supports only 0");
  EXPECT_EQ(refusal(R"("scale_embedding": 1)"), "scale_embedding is 1; it must be true or false");
  EXPECT_EQ(refusal(R"("activation_function": "relu")"),
            "'activation_function' is 'relu'; it must be 'gelu' or 'gelu_new'");
  EXPECT_EQ(refusal(R"("eos_token_id": 64)"), "eos_token_id is 64, outside the vocabulary of 64");
  EXPECT_EQ(refusal(R"("decoder_layers": 0)"), "decoder_layers is 0; it must be at least 1");
  EXPECT_EQ(refusal(R"("encoder_layers": 2049)"),
            "encoder_layers is 2049; the largest that bp supports is 2048");
  EXPECT_EQ(refusal_of([] {
              (void)model_of(spec_of(R"(, "encoder_layers": 2000, "decoder_layers": 2000)"),
                             make_classifier_head);
            }),
            "encoder_layers is 4000; the largest that bp supports is 2048");
}

TEST(Bart, KeepsTheLayersOfBothStacksInItsConfig) {
  const EncoderSpec spec =
      parse_config(small().text(concat(kOthers, kDropout, R"(, "decoder_layerdrop": 0.0)")));
  EXPECT_EQ(spec.layers, 4);
  const std::string text = config_json(spec);
  EXPECT_THAT(
      text,
      AllOf(HasSubstr("\"encoder_layers\": 1"), HasSubstr("\"decoder_layers\": 3"),
            HasSubstr("\"decoder_ffn_dim\": 48"), HasSubstr("\"decoder_layerdrop\": 0.0"),
            HasSubstr("\"scale_embedding\": true"), HasSubstr("\"is_encoder_decoder\": true")));
  EXPECT_EQ(parse_config(text), spec);
}

TEST(Bart, AdaptsBothStacksAndBothKindsOfAttention) {
  const EncoderSpec spec = spec_of(R"(, "encoder_layers": 1, "decoder_layers": 1)");
  EXPECT_THAT(
      adaptable_modules(spec),
      ElementsAre(
          "model.encoder.layers.0.self_attn.q_proj", "model.encoder.layers.0.self_attn.k_proj",
          "model.encoder.layers.0.self_attn.v_proj", "model.encoder.layers.0.self_attn.out_proj",
          "model.encoder.layers.0.fc1", "model.encoder.layers.0.fc2",
          "model.decoder.layers.0.self_attn.q_proj", "model.decoder.layers.0.self_attn.k_proj",
          "model.decoder.layers.0.self_attn.v_proj", "model.decoder.layers.0.self_attn.out_proj",
          "model.decoder.layers.0.fc1", "model.decoder.layers.0.fc2",
          "model.decoder.layers.0.encoder_attn.q_proj",
          "model.decoder.layers.0.encoder_attn.k_proj",
          "model.decoder.layers.0.encoder_attn.v_proj",
          "model.decoder.layers.0.encoder_attn.out_proj"));
  EXPECT_THAT(target_names(spec),
              AllOf(::testing::Contains("q_proj"), ::testing::Contains("encoder_attn.q_proj")));
}

// The sum of what the adapters add is in the matrices afterwards.
TEST(Bart, MergesItsAdapters) {
  const LoraConfig lora{
      .rank = 2, .targets = {kAllLinear}, .modules_to_save = {"classification_head"}};
  Bert model(spec_of(), make_classifier_head, Precision::fp32, 1, lora);
  {
    const at::NoGradGuard no_grad;
    for (const auto& [name, parameter] : model.parameters()) {
      if (name.ends_with("lora_B.weight")) at::Tensor(parameter).fill_(0.05);
    }
  }
  model.parameters_changed();
  const at::Tensor adapted = model.forward(long_batch(), nullptr);
  const Bert base(spec_of(), make_classifier_head, Precision::fp32, 1);
  EXPECT_FALSE(at::allclose(base.forward(long_batch(), nullptr), adapted, 1e-3, 1e-4));
  model.merge_adapters();
  EXPECT_TRUE(at::allclose(model.forward(long_batch(), nullptr), adapted, 1e-4, 1e-5));
}

}  // namespace
}  // namespace bp::trainer
