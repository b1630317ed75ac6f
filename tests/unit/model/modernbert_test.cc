// ModernBERT beyond what all families have in common: texts longer than the window of local layers,
// the forms of its config.json, and its heads. The numbers are those of transformers 5.23.0 for
// weights that are a formula (small_families.h).
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/refusal.h"
#include "tests/unit/model/expected_numbers.h"
#include "tests/unit/model/small_families.h"
#include "trainer/model/bert.h"
#include "trainer/model/config.h"
#include "trainer/model/families/family.h"
#include "trainer/model/files/json_reading.h"
#include "trainer/tasks/classify/classifier_head.h"
#include "trainer/tasks/pretrain/pretrain_head.h"
#include "trainer/tasks/tokens/sentence_windows.h"
#include "trainer/tasks/tokens/token_head.h"
#include "trainer/tasks/tokens/token_options.h"

namespace bp::trainer {
namespace {

using bp::test::refusal_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Other values than the usual ones in all keys that say how layers see texts.
constexpr const char* kOthers = R"(, "classifier_pooling": "mean", "local_attention": 5,
    "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
    "rope_parameters": {"full_attention": {"rope_theta": 500, "rope_type": "default"},
                        "sliding_attention": {"rope_theta": 70, "rope_type": "default"}})";

const SmallModel& small() {
  static const std::vector<SmallModel> kAll = small_models();
  return *std::ranges::find(kAll, "modernbert", &SmallModel::family);
}

EncoderSpec spec_of(const std::string& more = "") {
  EncoderSpec spec = parse_config(small().text(more));
  spec.head = head_of({.labels = {"a", "b", "c"}}, spec);
  return spec;
}

// Texts longer than the windows, in rows of 37 tokens or more.
Batch long_batch(std::vector<std::int32_t> lengths = {37, 21, 33}) {
  Batch batch;
  batch.rows = static_cast<int>(lengths.size());
  batch.length = std::max(37, *std::ranges::max_element(lengths));
  for (int row = 0; row < batch.rows; ++row) {
    const int length = lengths[static_cast<std::size_t>(row)];
    for (int place = 0; place < batch.length; ++place) {
      const int middle = place + 1 == length ? 2 : 5 + (7 * place + 11 * row) % 50;
      batch.token_ids.push_back(place == 0 ? 1 : place < length ? middle : 3);
    }
    batch.sample_ids.push_back(row);
  }
  batch.lengths = std::move(lengths);
  batch.arrays = {{.integers = {2, 0, 1}}};
  return batch;
}

TEST(ModernBert, HasTheNumbersOfTransformersForTextsLongerThanItsWindows) {
  expect_numbers(*model_of(spec_of(), make_classifier_head), long_batch(),
                 {.197215885F, -.176511616F, .034018844F, .206977695F, -.101776719F, .100644462F,
                  .183000803F, -.164673194F, .013495505F},
                 1.11554945, .942354022);
  expect_numbers(*model_of(spec_of(kOthers), make_classifier_head), long_batch(),
                 {.265777290F, .244158357F, .126231879F, -.023340922F, .383941799F, .065012537F,
                  .373609275F, -.266920835F, .207257122F},
                 1.32362318, 3.38058198);
}

TEST(ModernBert, TagsTokensAndPredictsMaskedOnesThroughItsHead) {
  Batch tagged = long_batch();
  tagged.arrays = {{}};
  for (const std::int64_t id : tagged.token_ids) {
    tagged.arrays[kTargetsArray].integers.push_back(id == 3 ? kIgnoredTarget : id % 3);
  }
  const auto tagger = model_of(spec_of(), make_token_head);
  EXPECT_NEAR(tagger->forward(long_batch(), nullptr).to(at::kDouble).abs().sum().item<double>(),
              94.66725728, 1e-4);
  expect_numbers(*tagger, tagged, {.197215974F, -.176511586F, .034018785F}, 1.161042452,
                 1.407659165);

  const HeadMaker masked = [](const EncoderSpec& spec, Parameters& parameters) {
    const auto targets = [](const Batch&) {
      return PretrainTargets{.masked = {2, 0, 1}, .positions = {5, 36, 30}, .ids = {9, 10, 11}};
    };
    return make_pretrain_head(spec, parameters, targets, false);
  };
  const auto predictor = model_of(spec_of(), masked);
  EXPECT_EQ(predictor->ties().at("decoder.weight"), "model.embeddings.tok_embeddings.weight");
  expect_numbers(*predictor, long_batch(), {}, 4.23312235, 5.07707588);
}

TEST(ModernBert, ALongRowHasTheSameBitsAloneAndAmongOthers) {
  const auto model = model_of(spec_of(kOthers), make_classifier_head);
  const at::Tensor all = model->hidden_states(long_batch());
  const at::Tensor alone = model->hidden_states(long_batch({37}));
  EXPECT_TRUE(at::equal(alone, all.slice(0, 0, 37)));
}

TEST(ModernBert, ComputesLayersAgainWithTheSameGradients) {
  for (const char* more : {"", kOthers}) {
    EncoderSpec spec = spec_of(more);
    spec.hidden_dropout = spec.attention_dropout = spec.intermediate_dropout = 0.3;
    const auto kept = model_of(spec, make_classifier_head);
    const auto again = model_of(spec, make_classifier_head);
    TrainingStep step{1, 1};
    kept->loss(kept->forward(long_batch(), &step), long_batch()).mean.backward();
    step.recomputed_layers = 2;
    again->loss(again->forward(long_batch(), &step), long_batch()).mean.backward();
    for (std::size_t i = 0; i < kept->parameters().size(); ++i) {
      const auto& [name, parameter] = kept->parameters()[i];
      EXPECT_TRUE(at::equal(again->parameters()[i].second.grad(), parameter.grad())) << name;
    }
  }
}

TEST(ModernBert, DropsWhereEachKeySays) {
  const TrainingStep step{1, 1};
  const at::Tensor whole = model_of(spec_of(), make_classifier_head)->forward(long_batch(), &step);
  for (const char* key :
       {"embedding_dropout", "attention_dropout", "mlp_dropout", "classifier_dropout"}) {
    const EncoderSpec spec = spec_of(std::string(", \"") + key + "\": 0.5");
    const auto model = model_of(spec, make_classifier_head);
    EXPECT_FALSE(at::allclose(model->forward(long_batch(), &step), whole, 1e-2, 1e-2)) << key;
    EXPECT_TRUE(at::allclose(model->forward(long_batch(), nullptr), whole, 1e-5, 1e-6)) << key;
  }
}

TEST(ModernBert, ReadsTheKeysOfOlderFiles) {
  const EncoderSpec usual = spec_of();
  EXPECT_THAT(usual.local_layers, ElementsAre(false, true, true));
  EXPECT_EQ(usual.rope_theta, 160000);
  EXPECT_EQ(usual.local_rope_theta, 10000);
  const EncoderSpec old = spec_of(
      R"(, "global_attn_every_n_layers": 2, "global_rope_theta": 500, "local_rope_theta": 70.5)");
  EXPECT_THAT(old.local_layers, ElementsAre(false, true, false));
  EXPECT_EQ(old.rope_theta, 500);
  EXPECT_EQ(old.local_rope_theta, 70.5);
  const std::string written = config_json(old);
  EXPECT_THAT(written, Not(HasSubstr("global_")));
  EXPECT_EQ(parse_config(written), old);
  EXPECT_EQ(parse_config(config_json(spec_of(kOthers))), spec_of(kOthers));
}

TEST(ModernBert, RefusesOtherWaysToSeeTextsByName) {
  const auto refusal = [](const std::string& more) {
    return refusal_of([&] { return spec_of(", " + more); });
  };
  EXPECT_EQ(refusal(R"("layer_types": ["full_attention"])"),
            "'layer_types' is a list; it must be a list of 3 texts");
  EXPECT_THAT(refusal(R"("layer_types": ["full_attention", 1, "x"])"), HasSubstr("has 1; bp"));
  EXPECT_THAT(refusal(R"("rope_parameters": {"rope_theta": 5})"),
              HasSubstr("'rope_parameters' has 'rope_theta'; bp supports only a rope_theta for"));
  EXPECT_THAT(refusal(R"("rope_parameters": {"full_attention": {"rope_type": "yarn"}})"),
              HasSubstr("'rope_parameters' has 'rope_type'"));
  EXPECT_THAT(refusal(R"("rope_parameters": {"sliding_attention": {"factor": 2}})"),
              HasSubstr("'rope_parameters' has 'factor'"));
  EXPECT_THAT(refusal(R"("rope_parameters": {"sliding_attention": []})"), HasSubstr("a list"));
  EXPECT_EQ(refusal(R"("rope_parameters": {"full_attention": {"rope_theta": 0}})"),
            "'rope_theta' is 0; it must be a number above 0");
  EXPECT_THAT(refusal(R"("global_rope_theta": "x")"), HasSubstr("'global_rope_theta' is 'x'"));
  EXPECT_THAT(refusal(R"("global_attn_every_n_layers": 0)"), HasSubstr("above 0"));
  EXPECT_EQ(refusal(R"("classifier_pooling": "max")"),
            "classifier_pooling is 'max'; bp supports only 'cls' and 'mean'");
  EXPECT_THAT(refusal(R"("local_attention": 0)"), HasSubstr("local_attention is 0; it must be"));
  EXPECT_EQ(refusal(R"("num_hidden_layers": 100000000)"),
            "num_hidden_layers is 100000000; the largest that bp supports is 4096");
  EXPECT_THAT(refusal(R"("hidden_size": 36, "num_attention_heads": 4)"), HasSubstr("even number"));
}

TEST(ModernBert, OnlyThePoolerIsRemovedForAHeadThatDoesNotReadIt) {
  EncoderSpec spec = spec_of();
  spec.pools_tokens = false;
  const HeadMaker head = [](const EncoderSpec& given, Parameters& parameters) {
    (void)parameters.bias("head.own", 2);
    return make_token_head(given, parameters);
  };
  const auto model = model_of(spec, head);
  std::vector<std::string> names;
  for (const auto& [name, parameter] : model->parameters()) {
    if (name.starts_with("head.")) names.push_back(name);
  }
  EXPECT_THAT(names, ElementsAre("head.own"));
}

// Published files have 8192 positions.
TEST(ModernBert, TakesSamplesOfAsManyTokensAsAttentionDoes) {
  EXPECT_EQ(spec_of().max_tokens(), 40);
  EXPECT_EQ(spec_of(R"(, "max_position_embeddings": 8192)").max_tokens(), 8192);
  EXPECT_EQ(spec_of(R"(, "max_position_embeddings": 9000)").max_tokens(), kMostTokens);
}

// A token of local layers depends on those within their reach alone, wherever in the text it is.
TEST(ModernBert, TheLastTokensOfTheLongestTextSeeTheSameAsAlone) {
  const auto model = model_of(spec_of(R"(, "max_position_embeddings": 8192,
      "num_attention_heads": 1,
      "layer_types": ["sliding_attention", "sliding_attention", "sliding_attention"])"),
                              make_classifier_head);
  constexpr int kTokens = 8192;
  constexpr int kAlone = 40;
  const Batch whole = long_batch({kTokens});
  Batch end = long_batch({kAlone});
  std::copy(whole.token_ids.end() - kAlone, whole.token_ids.end(), end.token_ids.begin());
  const at::Tensor of_whole = model->hidden_states(whole);
  ASSERT_EQ(of_whole.size(0), kTokens);
  // Three layers that each reach 4 tokens: the first 12 miss tokens before them. The angles of far
  // places have fewer digits.
  const at::Tensor difference =
      (of_whole.slice(0, kTokens - kAlone) - model->hidden_states(end)).slice(0, 12).abs().max();
  EXPECT_LT(difference.item<float>(), 1e-3);
}

// Alone it is computed as products of matrices in memory, and among short ones head by head.
TEST(ModernBert, ATextOfThousandsOfTokensHasTheSameStatesInBothWays) {
  const auto model = model_of(spec_of(R"(, "max_position_embeddings": 8192, "num_hidden_layers": 1,
      "num_attention_heads": 1, "layer_types": ["full_attention"])"),
                              make_classifier_head);
  constexpr int kTokens = 5000;
  const at::Tensor alone = model->hidden_states(long_batch({kTokens}));
  const at::Tensor all = model->hidden_states(long_batch({kTokens, 3, 3}));
  const at::Tensor difference = (all.slice(0, 0, kTokens) - alone).abs().max();
  EXPECT_LT(difference.item<float>(), 1e-5);
  EXPECT_GT((alone.select(0, 1) - alone.select(0, 4000)).abs().max().item<float>(), 1e-2);
}

// transformers' _init_weights() of ModernBERT: normal numbers within two deviations, which are
// smaller in the products that add to the states of tokens. Cutting leaves 0.8796 of a deviation.
TEST(ModernBert, DrawsTheFirstWeightsAsTransformers) {
  EncoderSpec spec = new_encoder(3, 128, "modernbert");
  spec.initializer_range = 0.02;
  spec.head = head_of({.labels = {"a", "b", "c"}}, spec);
  const Bert model(spec, make_classifier_head, Precision::fp32, 1);
  const double branch = 0.02 / std::sqrt(6.0);
  const std::vector<std::pair<std::string, double>> deviations = {
      {"model.embeddings.tok_embeddings.weight", 0.02}, {"model.layers.1.attn.Wqkv.weight", 0.02},
      {"model.layers.1.mlp.Wi.weight", 0.02},           {"model.layers.1.attn.Wo.weight", branch},
      {"model.layers.1.mlp.Wo.weight", branch},         {"head.dense.weight", branch},
      {"classifier.weight", 1 / std::sqrt(128.0)}};
  const std::map<std::string, at::Tensor> parameters(model.parameters().begin(),
                                                     model.parameters().end());
  for (const auto& [name, deviation] : deviations) {
    const at::Tensor weight = parameters.at(name).detach();
    EXPECT_LE(weight.abs().max().item<double>(), 2.0001 * deviation) << name;
    const double error = 5 / std::sqrt(2.0 * static_cast<double>(weight.numel()));
    EXPECT_NEAR(weight.std().item<double>() / deviation, 0.8796, error) << name;
    EXPECT_NEAR(weight.mean().item<double>() / deviation, 0, 2 * error) << name;
  }
}

}  // namespace
}  // namespace bp::trainer
