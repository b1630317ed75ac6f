// Parts of a model by the names of its parameters.
#include "trainer/optim/model_parts.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tests/unit/data/input_refusal.h"
#include "trainer/model/families/family.h"

namespace bp::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

EncoderSpec with_layers(int layers) {
  EncoderSpec spec;
  spec.layers = layers;
  return spec;
}

TEST(ModelParts, AreNamedAndNumbered) {
  EXPECT_THAT(frozen_names({}, with_layers(4)), IsEmpty());
  EXPECT_THAT(frozen_names({"embeddings", "0-1", "3", "pooler"}, with_layers(4)),
              ElementsAre("bert.embeddings.", "bert.encoder.layer.0.", "bert.encoder.layer.1.",
                          "bert.encoder.layer.3.", "bert.pooler."));
  EXPECT_THAT(frozen_names({"encoder"}, with_layers(4)), ElementsAre("bert.encoder.layer."));
  // Layer 1 is not a beginning of layer 11.
  EXPECT_THAT(frozen_names({"1"}, with_layers(12)), ElementsAre("bert.encoder.layer.1."));
}

TEST(ModelParts, ThatDoNotExistAreRefused) {
  const auto refused = [](const std::string& part) {
    return test::input_refusal([&] { (void)frozen_names({part}, with_layers(4)); });
  };
  for (const char* part : {"embedding", "", "-1", "1-", "2-1", "0-1-2", "1.5", "head", "0x1"}) {
    EXPECT_EQ(refused(part), std::string("2: --freeze: '") + part +
                                 "' is not part of a model | embeddings, encoder, pooler, and "
                                 "layers from 0: --freeze embeddings,0-3");
  }
  EXPECT_EQ(refused("2-4"),
            "2: --freeze: there is no layer 4 in a model with 4 layers | its layers are 0 to 3");
}

TEST(ModelParts, OfSharedLayersAreOneLayer) {
  EncoderSpec spec = albert().usual;
  spec.layers = 12;
  const std::string layers = "albert.encoder.albert_layer_groups.0.albert_layers.";
  EXPECT_THAT(frozen_names({"embeddings", "0", "encoder", "pooler"}, spec),
              ElementsAre("albert.embeddings.", "albert.encoder.embedding_hidden_mapping_in.",
                          layers + "0.", layers, "albert.pooler."));
  EXPECT_EQ(test::input_refusal([&] { (void)frozen_names({"0-1"}, spec); }),
            "2: --freeze: there is no layer 1 in a model with 1 layer | all layers have the "
            "weights of layer 0");
  EXPECT_EQ(depth_below_head(layers + "0.ffn.weight", layers_of(spec)), 1);
  EXPECT_EQ(depth_below_head("albert.encoder.embedding_hidden_mapping_in.bias", layers_of(spec)),
            2);
  spec = mpnet().usual;
  spec.layers = 12;
  EXPECT_EQ(depth_below_head("mpnet.encoder.relative_attention_bias.weight", layers_of(spec)), 13);
}

TEST(ModelParts, OfDistancesBelongToTheEmbeddings) {
  const EncoderSpec spec = deberta_v2().usual;
  EXPECT_THAT(frozen_names({"embeddings", "pooler"}, spec),
              ElementsAre("deberta.embeddings.", "deberta.encoder.rel_embeddings.",
                          "deberta.encoder.LayerNorm.", "pooler.dense."));
}

TEST(ModelParts, HaveADistanceFromTheHead) {
  const std::vector<std::string> layers = layers_of(with_layers(12));
  EXPECT_EQ(depth_below_head("classifier.weight", layers), 0);
  EXPECT_EQ(depth_below_head("bert.pooler.dense.bias", layers), 0);
  EXPECT_EQ(depth_below_head("bert.encoder.layer.11.output.dense.weight", layers), 1);
  EXPECT_EQ(depth_below_head("bert.encoder.layer.1.output.dense.weight", layers), 11);
  EXPECT_EQ(depth_below_head("bert.encoder.layer.0.output.dense.weight", layers), 12);
  EXPECT_EQ(depth_below_head("bert.embeddings.LayerNorm.weight", layers), 13);
  EXPECT_THAT(layers_in({"bert.encoder.layer.2.x", "bert.encoder.layer.2.z",
                         "bert.encoder.layer.10.y", "classifier.weight"}),
              ElementsAre("bert.encoder.layer.2.", "bert.encoder.layer.10."));
  EXPECT_THAT(layers_in({"classifier.weight"}), IsEmpty());
}

// The decoder's layers are above the encoder's. The names of another family begin alike.
TEST(ModelParts, OfADecoderComeBehindThoseOfTheEncoder) {
  EncoderSpec spec = bart().usual;
  spec.layers = 5;
  spec.decoder_layers = 3;
  EXPECT_THAT(frozen_names({"embeddings", "1-2", "pooler"}, spec),
              ElementsAre("model.shared.", "model.encoder.embed_positions.",
                          "model.encoder.layernorm_embedding.", "model.decoder.embed_positions.",
                          "model.decoder.layernorm_embedding.", "model.encoder.layers.1.",
                          "model.decoder.layers.0.", "classification_head.dense."));
  const std::vector<std::string> layers = layers_of(spec);
  EXPECT_EQ(layers_in({"model.shared.weight", "model.encoder.layers.0.fc1.bias",
                       "model.encoder.layers.1.fc1.bias", "model.decoder.layers.0.fc1.bias",
                       "model.decoder.layers.1.fc1.bias", "model.decoder.layers.2.fc1.bias",
                       "classification_head.dense.bias"}),
            layers);
  EXPECT_EQ(depth_below_head("model.decoder.layers.2.fc1.weight", layers), 1);
  EXPECT_EQ(depth_below_head("model.encoder.layers.1.fc1.weight", layers), 4);
  EXPECT_EQ(depth_below_head("model.shared.weight", layers), 6);
  EXPECT_EQ(depth_below_head("model.decoder.layernorm_embedding.bias", layers), 6);
  EXPECT_EQ(depth_below_head("classification_head.dense.bias", layers), 0);
  spec = modernbert().usual;
  EXPECT_EQ(depth_below_head("model.layers.1.mlp.Wo.weight", layers_of(spec)), 1);
  EXPECT_EQ(depth_below_head("model.embeddings.norm.weight", layers_of(spec)), 3);
}

}  // namespace
}  // namespace bp::trainer
