#include "trainer/model/config.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "bp/error.h"
#include "comm/base/text.h"
#include "trainer/model/kernels/kernels.h"

namespace bp::trainer {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void refuse(const std::string& text) {
  throw Error(ErrorCode::invalid_argument, text);
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error(ErrorCode::io, concat("cannot read ", path, ": ", error_text(errno)));
  return {std::istreambuf_iterator<char>(in), {}};
}

// Sets `value` from `key` when it is there and not null.
template <class T>
void take(const Json& json, const char* key, T& value) {
  if (const auto it = json.find(key); it != json.end() && !it->is_null()) value = it->get<T>();
}

template <class T>
void require(const Json& json, const char* key, T& value) {
  if (!json.contains(key)) refuse(concat("'", key, "' is missing"));
  value = json.at(key).get<T>();
}

// id2label is an object of "0", "1", ... in any order.
std::vector<std::string> labels_of(const Json& json) {
  std::vector<std::string> labels;
  const auto names = json.find("id2label");
  if (names == json.end() || names->is_null()) return labels;
  for (std::size_t id = 0; id < names->size(); ++id) {
    const auto name = names->find(std::to_string(id));
    if (name == names->end()) refuse(concat("id2label has no label ", id));
    labels.push_back(name->get<std::string>());
  }
  return labels;
}

BertConfig parse(const std::string& text) {
  const Json json = Json::parse(text);
  if (!json.is_object()) refuse("it is no JSON object");
  if (const std::string type = json.value("model_type", "bert"); type != "bert") {
    refuse(concat("model_type is '", type, "', and bp trains 'bert' only"));
  }
  if (const std::string act = json.value("hidden_act", "gelu"); act != "gelu") {
    refuse(concat("hidden_act is '", act, "', and bp has 'gelu' only"));
  }
  if (const std::string kind = json.value("position_embedding_type", "absolute");
      kind != "absolute") {
    refuse(concat("position_embedding_type is '", kind, "', and bp has 'absolute' only"));
  }
  BertConfig config;
  require(json, "vocab_size", config.vocabulary);
  require(json, "hidden_size", config.hidden);
  require(json, "num_hidden_layers", config.layers);
  require(json, "num_attention_heads", config.heads);
  require(json, "intermediate_size", config.intermediate);
  take(json, "max_position_embeddings", config.positions);
  take(json, "type_vocab_size", config.token_types);
  take(json, "pad_token_id", config.pad_id);
  take(json, "layer_norm_eps", config.norm_epsilon);
  take(json, "hidden_dropout_prob", config.hidden_dropout);
  take(json, "attention_probs_dropout_prob", config.attention_dropout);
  take(json, "initializer_range", config.initializer_range);
  if (const auto it = json.find("classifier_dropout"); it != json.end() && it->is_number()) {
    config.classifier_dropout = it->get<double>();
  }
  config.labels = labels_of(json);
  check(config);
  return config;
}

}  // namespace

const std::vector<std::string>& preset_names() {
  static const std::vector<std::string> kNames = {"tiny",   "mini", "small",
                                                  "medium", "base", "large"};
  return kNames;
}

std::optional<BertConfig> preset(std::string_view name) {
  struct Shape {
    int layers;
    int hidden;
  };
  constexpr Shape kShapes[] = {{2, 128}, {4, 256}, {4, 512}, {8, 512}, {12, 768}, {24, 1024}};
  for (std::size_t i = 0; i < preset_names().size(); ++i) {
    if (preset_names()[i] != name) continue;
    BertConfig config;
    config.layers = kShapes[i].layers;
    config.hidden = kShapes[i].hidden;
    config.heads = config.hidden / 64;
    config.intermediate = 4 * config.hidden;
    // BERT's 0.02 belongs to base: a narrower product needs larger weights to keep its gain.
    config.initializer_range *= std::sqrt(std::max(1.0, 768.0 / config.hidden));
    return config;
  }
  return std::nullopt;
}

void check(const BertConfig& c) {
  const auto positive = [](int value, const char* name) {
    if (value < 1) refuse(concat(name, " is ", value, "; it must be at least 1"));
  };
  positive(c.vocabulary, "vocab_size");
  positive(c.hidden, "hidden_size");
  positive(c.layers, "num_hidden_layers");
  positive(c.heads, "num_attention_heads");
  positive(c.intermediate, "intermediate_size");
  positive(c.positions, "max_position_embeddings");
  positive(c.token_types, "type_vocab_size");
  const auto narrow = [](int value, const char* name) {
    if (value > kernels::kMaxRow) {
      refuse(concat(name, " is ", value, "; the most that bp takes is ", kernels::kMaxRow));
    }
  };
  narrow(c.hidden, "hidden_size");
  narrow(c.positions, "max_position_embeddings");
  if (c.hidden % c.heads != 0) {
    refuse(concat("hidden_size ", c.hidden, " is no multiple of num_attention_heads ", c.heads));
  }
  if (c.pad_id < 0 || c.pad_id >= c.vocabulary) {
    refuse(concat("pad_token_id ", c.pad_id, " is outside the vocabulary of ", c.vocabulary));
  }
  const auto share = [](double value, const char* name) {
    if (!(value >= 0 && value < 1)) {
      refuse(concat(name, " is ", value, "; it must be at least 0 and below 1"));
    }
  };
  share(c.hidden_dropout, "hidden_dropout_prob");
  share(c.attention_dropout, "attention_probs_dropout_prob");
  share(c.classifier_dropout.value_or(0), "classifier_dropout");
}

BertConfig read_config(const std::string& path) {
  const std::string text = read_file(path);
  try {
    return parse(text);
  } catch (const Json::exception& error) {
    refuse(concat(path, ": ", error.what()));
  } catch (const Error& error) {
    refuse(concat(path, ": ", error.what()));
  }
}

std::string config_json(const BertConfig& config) {
  Json json;
  json["architectures"] = {"BertForSequenceClassification"};
  json["attention_probs_dropout_prob"] = config.attention_dropout;
  json["classifier_dropout"] =
      config.classifier_dropout ? Json(*config.classifier_dropout) : Json(nullptr);
  json["gradient_checkpointing"] = false;
  json["hidden_act"] = "gelu";
  json["hidden_dropout_prob"] = config.hidden_dropout;
  json["hidden_size"] = config.hidden;
  json["id2label"] = Json::object();
  json["initializer_range"] = config.initializer_range;
  json["intermediate_size"] = config.intermediate;
  json["label2id"] = Json::object();
  for (std::size_t id = 0; id < config.labels.size(); ++id) {
    json["id2label"][std::to_string(id)] = config.labels[id];
    json["label2id"][config.labels[id]] = id;
  }
  json["layer_norm_eps"] = config.norm_epsilon;
  json["max_position_embeddings"] = config.positions;
  json["model_type"] = "bert";
  json["num_attention_heads"] = config.heads;
  json["num_hidden_layers"] = config.layers;
  json["pad_token_id"] = config.pad_id;
  json["position_embedding_type"] = "absolute";
  json["problem_type"] = "single_label_classification";
  json["type_vocab_size"] = config.token_types;
  json["use_cache"] = true;
  json["vocab_size"] = config.vocabulary;
  return json.dump(2) + "\n";
}

}  // namespace bp::trainer
