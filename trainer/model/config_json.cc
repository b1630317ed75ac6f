#include <algorithm>
#include <limits>

#include "base/refuse.h"
#include "base/text.h"
#include "bp/error.h"
#include "trainer/model/config.h"
#include "trainer/model/json_reading.h"

namespace bp::trainer {
namespace {

constexpr std::size_t kMaxLabels = 100'000;
constexpr int kMaxInt = std::numeric_limits<int>::max();

[[noreturn]] void refuse_value(const char* key, const Json& value, const char* wanted) {
  refuse(concat("'", key, "' is ", shown(value), "; it must be ", wanted));
}

// Both functions set `value` if `key` exists and is not null.
void take(const Json& json, const char* key, int& value) {
  const Json& found = find(json, key);
  if (found.is_null()) return;
  // Narrowing would change the value.
  const bool fits =
      found.is_number_unsigned()
          ? found.get<std::uint64_t>() <= kMaxInt
          : found.is_number_integer() && found.get<std::int64_t>() >= -std::int64_t{kMaxInt};
  if (!fits) refuse_value(key, found, "a whole number below 2^31");
  value = found.get<int>();
}
void take(const Json& json, const char* key, double& value) {
  const Json& found = find(json, key);
  if (found.is_null()) return;
  if (!found.is_number()) refuse_value(key, found, "a number");
  value = found.get<double>();
}
void require(const Json& json, const char* key, int& value) {
  if (!json.contains(key)) refuse(concat("'", key, "' is missing"));
  if (find(json, key).is_null()) refuse_value(key, find(json, key), "a whole number below 2^31");
  take(json, key, value);
}

// only() refuses a key that is set to anything but the one kind that bp has. never() refuses a key
// that is set at all.
void only(const Json& json, const char* key, const std::string& kind) {
  const Json& found = find(json, key);
  if (found.is_null() || (found.is_string() && found.get<std::string>() == kind)) return;
  refuse(concat(key, " is ", shown(found), "; bp supports only '", kind, "'"));
}
void never(const Json& json, const char* key) {
  const Json& found = find(json, key);
  const bool is_off = found.is_null() || found == Json(false) || found.empty();
  if (!is_off) refuse(concat(key, " is set, but bp does not support such models"));
}

// Reads {"0": "bad", "1": "good"}, in any order.
std::vector<std::string> labels_by_id(const Json& names) {
  std::vector<std::string> labels;
  for (std::size_t id = 0; id < names.size(); ++id) {
    const auto name = names.find(std::to_string(id));
    if (name == names.end()) refuse(concat("id2label has no label ", id));
    if (!name->is_string()) refuse(concat("id2label's ", id, " is ", shown(*name), ", not a name"));
    labels.push_back(name->get<std::string>());
  }
  return labels;
}

// Reads {"bad": 0, "good": 1}, in any order.
std::vector<std::string> labels_by_name(const Json& ids) {
  std::vector<std::string> labels(ids.size());
  std::vector<bool> seen(ids.size(), false);
  for (const auto& [name, id] : ids.items()) {
    const bool fits = id.is_number_unsigned() && id.get<std::uint64_t>() < labels.size() &&
                      !seen[id.get<std::size_t>()];
    if (!fits) {
      refuse(concat("label2id gives ", in_quotes(name), " the number ", shown(id),
                    "; each of 0 to ", ids.size() - 1, " must occur once"));
    }
    labels[id.get<std::size_t>()] = name;
    seen[id.get<std::size_t>()] = true;
  }
  return labels;
}

std::vector<std::string> labels_of(const Json& json) {
  const Json& by_id = find(json, "id2label");
  const Json& by_name = find(json, "label2id");
  for (const Json* map : {&by_id, &by_name}) {
    if (!map->is_null() && !map->is_object()) refuse("id2label or label2id is not an object");
    if (map->size() > kMaxLabels) {
      refuse(concat("it has ", map->size(), " labels; the largest number that bp supports is ",
                    kMaxLabels));
    }
  }
  std::vector<std::string> labels = by_id.empty() ? labels_by_name(by_name) : labels_by_id(by_id);
  std::vector<std::string> sorted = labels;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) refuse(concat("two labels are called ", in_quotes(*twice)));
  return labels;
}

}  // namespace

BertConfig parse_config(const std::string& text) {
  const Json json = parse_object(text);
  only(json, "model_type", "bert");
  only(json, "hidden_act", "gelu");
  only(json, "position_embedding_type", "absolute");
  never(json, "is_decoder");
  never(json, "add_cross_attention");
  never(json, "pruned_heads");
  never(json, "quantization_config");
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
  double classifier_dropout = -1;
  take(json, "classifier_dropout", classifier_dropout);
  if (!find(json, "classifier_dropout").is_null()) config.classifier_dropout = classifier_dropout;
  config.labels = labels_of(json);
  check(config);
  return config;
}

BertConfig read_config(const std::string& path) {
  const FileBytes file(path);
  try {
    return parse_config(read_json_file(file));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_argument) throw;
    refuse(concat(path, ": ", error.what()));
  }
}

std::string config_json(const BertConfig& config) {
  nlohmann::ordered_json json;
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
