// A family of encoders: which keys of config.json and which names of weights describe a model of
// it. A family is one file of this folder, which families.cc lists. Does not use LibTorch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "trainer/model/families/encoder_spec.h"

namespace bp::trainer {

// A key of config.json, and what it sets.
struct ConfigKey {
  using Member = std::variant<int EncoderSpec::*,
                              double EncoderSpec::*,
                              std::optional<double> EncoderSpec::*,
                              bool EncoderSpec::*,
                              Activation EncoderSpec::*>;
  const char* name = "";
  Member member = {};
  bool required = false;  // without it the number is that of Family::usual
};

// A key that every model of the family has with this value.
struct ConstantKey {
  // When another value is refused: in a file that has one, or also in a file without the key.
  enum class Check : std::uint8_t { never, if_there, always };
  const char* name = "";
  std::variant<bool, int, const char*> value = false;
  Check check = Check::if_there;
};

// The names that Hugging Face's files give the modules. A module's parameters are "<name>.weight"
// and "<name>.bias". The defaults are the names that most families share.
struct WeightNames {
  // What the names of the encoder's own modules begin with. It belongs before those that follow.
  std::string prefix = {};
  std::string words = "embeddings.word_embeddings";
  std::string positions = "embeddings.position_embeddings";  // empty: no table
  std::string types = "embeddings.token_type_embeddings";    // empty: tokens have no types
  std::string embedding_norm = "embeddings.LayerNorm";
  std::vector<std::string> tied_words = {};  // other names of the table of words in files
  std::string projection = {};               // from the width of the embeddings to the layers'
  // The table of distances between tokens, and the norm of its rows.
  std::string relative = {};
  std::string relative_norm = {};
  // Belongs before the number of a layer; the names of a layer's modules follow the number.
  std::string layers = "encoder.layer.";
  // Query, key and value, or one name for the three.
  std::vector<std::string> qkv = {"attention.self.query", "attention.self.key",
                                  "attention.self.value"};
  std::string merged_qkv = "attention.self.qkv";  // bp's name of the three as one
  std::string attention_output = "attention.output.dense";
  std::string attention_norm = "attention.output.LayerNorm";
  std::string intermediate = "intermediate.dense";
  std::string output = "output.dense";
  std::string output_norm = "output.LayerNorm";
  std::string final_norm = {};  // behind the layers, if these norm what they read
  // For a decoder. Its layers have the names of the encoder's, and modules for the attention to the
  // states of the encoder.
  std::string decoder_positions = {};
  std::string decoder_norm = {};  // of its embeddings
  std::string decoder_layers = {};
  std::vector<std::string> cross_qkv = {};
  std::string cross_output = {};
  std::string cross_norm = {};
  // Above the encoder, whole names: the dense layer over a text's first token, the layer of outputs
  // over that, and the parts of the head that predicts masked tokens. Empty: the family has none,
  // or its pooler is the dense layer over masked tokens.
  std::string pooler = {};
  std::string pooler_norm = {};  // behind the pooler's function
  std::string classifier = "classifier";
  std::string masked_dense = {};
  std::string masked_norm = {};
  std::string masked_decoder = {};
  std::string masked_bias = {};
  std::string next_sentence = {};

  [[nodiscard]] std::string word_embeddings() const { return prefix + words + ".weight"; }
  // Returns what the names of a layer's modules begin with. The decoder's layers come last.
  [[nodiscard]] std::string layer(const EncoderSpec& spec, int number) const {
    const int own = spec.layers - spec.decoder_layers;
    return prefix +
           (number < own ? layers + std::to_string(number)
                         : decoder_layers + std::to_string(number - own)) +
           ".";
  }
  // Returns the names of a layer's products of matrices, query, key and value first.
  [[nodiscard]] std::vector<std::string> products(bool of_decoder) const {
    std::vector<std::string> all = qkv;
    all.insert(all.end(), {attention_output, intermediate, output});
    if (!of_decoder) return all;
    all.insert(all.end(), cross_qkv.begin(), cross_qkv.end());
    all.push_back(cross_output);
    return all;
  }
  // Return what the names of all parameters of the embeddings and of the pooler begin with.
  [[nodiscard]] std::vector<std::string> embedding_parts() const {
    const std::string module = prefix + words.substr(0, words.find('.')) + ".";
    std::vector<std::string> parts = {module};
    for (const std::string& part : {positions, types, embedding_norm, projection, relative,
                                    relative_norm, decoder_positions, decoder_norm}) {
      const std::string whole = prefix + part + ".";
      if (!part.empty() && !whole.starts_with(module)) parts.push_back(whole);
    }
    return parts;
  }
  [[nodiscard]] std::string pooler_part() const {
    const bool in_encoder = encoder_has_pooler();
    if (in_encoder) return pooler.substr(0, pooler.find('.', prefix.size())) + ".";
    return (pooler_norm.empty() ? pooler : pooler.substr(0, pooler.rfind('.'))) + ".";
  }
  // Returns whether the pooler belongs to the encoder and not to a task's head.
  [[nodiscard]] bool encoder_has_pooler() const { return pooler.starts_with(prefix); }
};

struct Family {
  const char* classes = "";  // what the names of its classes begin with: "Bert"
  EncoderSpec usual = {};    // of a model whose config.json has the required keys alone
  std::vector<ConfigKey> keys = {};
  std::vector<ConstantKey> constants = {};
  // Keys that make a model which bp does not have, unless they are false, null or empty.
  std::vector<const char*> unsupported = {};
  // Moves what keys of other kinds say from a config.json into a spec, and adds such keys to one.
  // Null: there are none.
  void (*take_others)(nlohmann::json& json, EncoderSpec& spec) = nullptr;
  void (*put_others)(const EncoderSpec& spec, nlohmann::json& json) = nullptr;
  WeightNames names = {};
};

// Returns null for a family that bp does not have. `model_type`: of config.json.
[[nodiscard]] const Family* find_family(std::string_view model_type);
[[nodiscard]] const std::vector<const Family*>& families();
[[nodiscard]] std::vector<std::string> model_types();
// Returns their model types: "bert, roberta and electra".
[[nodiscard]] std::string family_names();

[[nodiscard]] const Family& family_of(const EncoderSpec& spec);
[[nodiscard]] inline const WeightNames& names_of(const EncoderSpec& spec) {
  return family_of(spec).names;
}
// Returns the name of a model's class in transformers: "BertForMaskedLM" of "ForMaskedLM".
[[nodiscard]] std::string class_name(const EncoderSpec& spec, std::string_view purpose);
// Returns the name of the key that sets `member`, or "" if none does.
[[nodiscard]] std::string key_of(const EncoderSpec& spec, const ConfigKey::Member& member);

// The keys of BERT, with which many families describe their sizes, and `more`. `all_sizes`: whether
// those that have usual values are required, too.
[[nodiscard]] std::vector<ConfigKey> bert_keys(bool all_sizes = false,
                                               const std::vector<ConfigKey>& more = {});
// Returns `keys` without those of one member.
[[nodiscard]] std::vector<ConfigKey> without(std::vector<ConfigKey> keys,
                                             const ConfigKey::Member& member);

// The families.
[[nodiscard]] const Family& albert();
[[nodiscard]] const Family& bart();
[[nodiscard]] const Family& bert();
[[nodiscard]] const Family& camembert();
[[nodiscard]] const Family& deberta_v2();
[[nodiscard]] const Family& distilbert();
[[nodiscard]] const Family& electra();
[[nodiscard]] const Family& modernbert();
[[nodiscard]] const Family& mpnet();
[[nodiscard]] const Family& roberta();
[[nodiscard]] const Family& xlm_roberta();

}  // namespace bp::trainer
