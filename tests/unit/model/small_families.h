// A small model of each family, the weights of which are a formula, so that no file is needed, and
// the numbers that transformers 5.24.0 computes of the same formula in fp32.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <array>
#include <cctype>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/batches/batch.h"
#include "trainer/model/bert.h"
#include "trainer/model/config.h"
#include "trainer/model/weights.h"
#include "trainer/tasks/classify/class_config.h"

namespace bp::trainer {

struct SmallModel {
  std::string family;
  std::string config;                   // the keys of config.json beside model_type
  std::array<std::int64_t, 3> special;  // the first and the last token of a text, and padding
  std::array<float, 6> logits;
  double loss;
  double gradient;             // the norm of all gradients
  double sum;                  // of the last hidden states
  double absolute;             // the sum of their absolute values
  std::array<float, 4> first;  // of the last hidden states
  std::vector<std::string> lora_targets;

  // Returns its config.json with `more` keys: ", \"is_decoder\": true".
  [[nodiscard]] std::string text(const std::string& more = "") const {
    return R"({"model_type": ")" + family + "\", " + config + more + "}";
  }
  [[nodiscard]] EncoderSpec spec() const {
    EncoderSpec spec = parse_config(text());
    spec.head = head_of({.labels = {"a", "b", "c"}}, spec);
    return spec;
  }
  // Two texts, of 11 and 6 tokens.
  [[nodiscard]] Batch batch() const {
    const auto [begin, end, pad] = special;
    Batch batch;
    batch.rows = 2;
    batch.length = 11;
    batch.token_ids = {begin, 5,  6,  7,  8,  9,   10,  11,  12,  13,  end,
                       begin, 20, 21, 22, 23, end, pad, pad, pad, pad, pad};
    batch.lengths = {11, 6};
    batch.arrays = {{.integers = {2, 0}}};
    batch.sample_ids = {1, 2};
    return batch;
  }
};

inline void PrintTo(const SmallModel& model, std::ostream* out) { *out << model.family; }

inline std::string sizes(const std::string& more) {
  return R"("vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
            "intermediate_size": 48, "max_position_embeddings": 40, "hidden_dropout_prob": 0,
            "attention_probs_dropout_prob": 0, )" +
         more;
}

inline std::vector<SmallModel> small_models() {
  const std::string of_roberta =
      sizes(R"("type_vocab_size": 1, "pad_token_id": 1, "layer_norm_eps": 1e-5)");
  SmallModel roberta = {"roberta",
                        of_roberta,
                        {0, 2, 1},
                        {.031972F, .055321F, .071528F, .036445F, .055758F, .073126F},
                        1.098773,
                        1.201704,
                        2.42263,
                        452.26359,
                        {-.721989F, 1.323797F, -.861357F, -.137913F},
                        {"query", "value"}};
  SmallModel xlm = roberta;
  xlm.family = "xlm-roberta";
  SmallModel camembert = roberta;
  camembert.family = "camembert";
  return {{"bert",
           sizes(R"("type_vocab_size": 2, "pad_token_id": 0, "layer_norm_eps": 1e-12)"),
           {2, 3, 0},
           {.011555F, .105463F, -.049356F, .010368F, .104633F, -.047977F},
           1.142566,
           1.317091,
           -9.73258,
           445.71186,
           {.906915F, .861907F, 1.883783F, 1.230101F},
           {"query", "value"}},
          roberta,
          xlm,
          camembert,
          {"distilbert",
           R"("vocab_size": 64, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48,
              "max_position_embeddings": 40, "pad_token_id": 0, "dropout": 0,
              "attention_dropout": 0, "seq_classif_dropout": 0)",
           {2, 3, 0},
           {.074130F, -.162384F, -.168945F, .074612F, -.163001F, -.174951F},
           1.065683,
           .968438,
           -4.24014,
           437.33447,
           {.761802F, 1.541903F, .455317F, .869430F},
           {"q_lin", "v_lin"}},
          {"electra",
           sizes(R"("type_vocab_size": 2, "pad_token_id": 0, "layer_norm_eps": 1e-12,
                    "embedding_size": 16)"),
           {2, 3, 0},
           {.108345F, -.090060F, -.032498F, .106930F, -.090692F, -.032513F},
           1.059811,
           .723773,
           -3.48597,
           437.42971,
           {1.428558F, .161498F, .739108F, -1.069103F},
           {"query", "value"}},
          {"mpnet",
           sizes(R"("pad_token_id": 1, "layer_norm_eps": 1e-5)"),
           {0, 2, 1},
           {.079186F, .006979F, .064484F, .079549F, .006625F, .070066F},
           1.078245,
           1.250447,
           -7.01105,
           440.40747,
           {.187394F, .235535F, .862720F, -.518764F},
           {"q", "v"}},
          {"albert",
           sizes(R"("type_vocab_size": 2, "pad_token_id": 0, "layer_norm_eps": 1e-12,
                    "embedding_size": 16, "classifier_dropout_prob": 0)"),
           {2, 3, 0},
           {-.086885F, -.085914F, -.151635F, -.091305F, -.088535F, -.155699F},
           1.110561,
           1.412971,
           -5.69568,
           437.40732,
           {.948540F, .723926F, 1.287190F, -.758271F},
           {"query", "value"}},
          {"deberta-v2",
           sizes(R"("type_vocab_size": 0, "pad_token_id": 0, "layer_norm_eps": 1e-7,
                    "relative_attention": true, "position_buckets": 8, "share_att_key": true,
                    "norm_rel_ebd": "layer_norm", "pos_att_type": "p2c|c2p",
                    "max_relative_positions": -1, "position_biased_input": false)"),
           {2, 3, 0},
           {.069751F, .014025F, -.128757F, .066950F, .010348F, -.131177F},
           1.116473,
           .782984,
           -9.23517,
           470.00823,
           {-2.308128F, 1.851359F, -1.347922F, 1.542415F},
           {"query_proj", "value_proj"}},
          {"modernbert",
           R"("vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 3,
              "num_attention_heads": 4, "intermediate_size": 48, "max_position_embeddings": 40,
              "pad_token_id": 3, "local_attention": 8)",
           {1, 2, 3},
           {.223583F, -.123696F, .095031F, .209547F, -.130095F, .077998F},
           1.014917,
           3.335992,
           1.51542,
           478.46898,
           {.303314F, .008693F, -.313856F, 1.568680F},
           {"Wqkv"}},
          {"bart",
           R"("vocab_size": 64, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2,
              "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 48,
              "decoder_ffn_dim": 48, "max_position_embeddings": 40, "dropout": 0)",
           {0, 2, 1},
           {.131791F, .046162F, .068140F, .153835F, .060973F, -.005999F},
           1.064851,
           1.893655,
           5.27709,
           444.86641,
           {-.238824F, -.420428F, -.561828F, -.623538F},
           {"q_proj", "v_proj"}}};
}

// As in zlib.
inline std::uint32_t crc32(std::string_view text) {
  std::uint32_t crc = ~0U;
  for (const char c : text) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1U) != 0 ? 0xEDB88320U : 0U);
  }
  return ~crc;
}

inline bool is_weight_of_norm(const std::string& name) {
  std::string lower;
  for (const char c : name) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower.find("norm") != std::string::npos && lower.ends_with("weight");
}

inline void set_by_formula(Bert& model) {
  const at::NoGradGuard no_grad;
  for (const auto& [name, parameter] : named_weights(model)) {
    at::Tensor values = at::empty(parameter.sizes(), at::kFloat);
    const double base = parameter.dim() == 1 && is_weight_of_norm(name) ? 1 : 0;
    for (std::int64_t k = 0; k < values.numel(); ++k) {
      auto h = static_cast<std::uint32_t>(k * 2654435761 + crc32(name));
      h = (h ^ (h >> 15)) * 2246822519U;
      values.data_ptr<float>()[k] = static_cast<float>(base + (h / 0x1p32 - 0.5) * 0.2);
    }
    at::Tensor own = parameter;
    own.copy_(values);
  }
  model.parameters_changed();
}

// For INSTANTIATE_TEST_SUITE_P.
inline std::string name_of_family(const ::testing::TestParamInfo<SmallModel>& info) {
  std::string name = info.param.family;
  std::erase(name, '-');
  return name;
}

}  // namespace bp::trainer
