#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/refuse.h"
#include "base/text.h"
#include "bp/error.h"
#include "trainer/model/config.h"
#include "trainer/model/json_reading.h"

namespace bp::trainer {
namespace {

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

Json encoder_json(const BertConfig& config) {
  return {{"attention_probs_dropout_prob", config.attention_dropout},
          {"gradient_checkpointing", false},
          {"hidden_act", "gelu"},
          {"hidden_dropout_prob", config.hidden_dropout},
          {"hidden_size", config.hidden},
          {"initializer_range", config.initializer_range},
          {"intermediate_size", config.intermediate},
          {"layer_norm_eps", config.norm_epsilon},
          {"max_position_embeddings", config.positions},
          {"model_type", "bert"},
          {"num_attention_heads", config.heads},
          {"num_hidden_layers", config.layers},
          {"pad_token_id", config.pad_id},
          {"position_embedding_type", "absolute"},
          {"type_vocab_size", config.token_types},
          {"use_cache", true},
          {"vocab_size", config.vocabulary}};
}

// Returns false for lists and objects in lists or objects, which no head has. They could be nested
// so deeply that dump() runs out of stack.
bool is_flat(const Json& value) {
  return std::ranges::none_of(value, [](const Json& part) { return part.is_structured(); });
}

// The keys that config_json() writes for the encoder.
const std::set<std::string>& encoder_keys() {
  static const std::set<std::string> kKeys = [] {
    std::set<std::string> keys;
    const Json json = encoder_json({});
    for (const auto& [key, value] : json.items()) keys.insert(key);
    return keys;
  }();
  return kKeys;
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
  for (const auto& [key, value] : json.items()) {
    if (!encoder_keys().contains(key) && is_flat(value)) config.head.emplace(key, value.dump());
  }
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

// Sorts the keys, but keeps the order inside the head's values.
std::string config_json(const BertConfig& config) {
  std::map<std::string, nlohmann::ordered_json> sorted;
  const Json encoder = encoder_json(config);
  for (const auto& [key, value] : encoder.items()) sorted[key] = value;
  for (const auto& [key, value] : config.head) sorted[key] = nlohmann::ordered_json::parse(value);
  nlohmann::ordered_json json;
  for (auto& [key, value] : sorted) json[key] = std::move(value);
  return json.dump(2) + "\n";
}

}  // namespace bp::trainer
