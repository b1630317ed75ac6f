#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "base/refuse.h"
#include "base/text.h"
#include "trainer/model/files/json_reading.h"
#include "trainer/model/lora.h"

namespace bp::trainer {
namespace {

// The keys that make another kind of adapter unless they are null, false or empty. Beside them,
// 'bias' must be "none".
constexpr const char* kOtherKinds[] = {"alora_invocation_tokens",
                                       "arrow_config",
                                       "exclude_modules",
                                       "fan_in_fan_out",
                                       "kasa_config",
                                       "layer_replication",
                                       "layers_pattern",
                                       "layers_to_transform",
                                       "lora_bias",
                                       "megatron_config",
                                       "monteclora_config",
                                       "target_parameters",
                                       "trainable_token_indices",
                                       "use_bdlora",
                                       "use_dora",
                                       "use_qalora",
                                       "velora_config"};

double number_in(const Json& value, const std::string& key) {
  if (!value.is_number()) refuse(concat("'", key, "' is ", shown(value), "; it must be a number"));
  return value.get<double>();
}

double number(const Json& json, const char* key, double otherwise) {
  const Json& found = find(json, key);
  return found.is_null() ? otherwise : number_in(found, key);
}

// PEFT writes whole numbers without a point.
nlohmann::ordered_json whole(double value) {
  const auto integer = static_cast<std::int64_t>(value);
  if (static_cast<double>(integer) == value) return integer;
  return value;
}

bool is_of_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-';
}

std::string text(const Json& json, const char* key) {
  const Json& found = find(json, key);
  if (found.is_null()) return "";
  if (!found.is_string()) refuse(concat("'", key, "' is ", shown(found), "; it must be a text"));
  return found.get<std::string>();
}

std::vector<std::string> names(const Json& json, const char* key) {
  const Json& found = find(json, key);
  std::vector<std::string> result;
  if (found.is_null()) return result;
  if (!found.is_array()) refuse(concat("'", key, "' is ", shown(found), ", not a list of names"));
  for (const Json& name : found) {
    if (!name.is_string()) refuse(concat("'", key, "' holds ", shown(name), ", not only names"));
    result.push_back(name.get<std::string>());
  }
  return result;
}

// A text is a regular expression, but for the one that stands for all products.
void read_targets(const Json& json, LoraConfig& config) {
  const Json& targets = find(json, "target_modules");
  config.targets.clear();
  if (!targets.is_string()) {
    config.targets = names(json, "target_modules");
  } else if (targets == kAllLinear) {
    config.targets = {kAllLinear};
  } else {
    config.target_pattern = targets.get<std::string>();
    try {
      (void)std::regex(config.target_pattern);
    } catch (const std::regex_error& error) {
      refuse(concat("'target_modules' is ", shown(targets),
                    "; bp reads no such regular expression: ", error.what()));
    }
  }
}

int rank_in(const Json& value, const std::string& key) {
  constexpr double kMostRank = 65536;
  const double rank = value.is_number() ? value.get<double>() : 0;
  if (!(rank >= 1 && rank <= kMostRank) || rank != static_cast<int>(rank)) {
    refuse(concat("'", key, "' is ", shown(value), "; it must be a whole number from 1"));
  }
  return static_cast<int>(rank);
}

// Returns the numbers of a pattern in their order in the file. PEFT's names are regular
// expressions, of which bp reads the usual ones: ends of names, in which a dot may be escaped.
template <class Number>
std::vector<std::pair<std::string, Number>> pattern_in(
    const nlohmann::ordered_json& json,
    const char* key,
    Number (*number_of)(const Json& value, const std::string& key)) {
  std::vector<std::pair<std::string, Number>> numbers;
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return numbers;
  if (!found->is_object()) {
    refuse(concat("'", key, "' is ", shown(Json(*found)), ", not an object"));
  }
  for (const auto& [pattern, value] : found->items()) {
    std::string name = pattern;
    for (std::size_t at = 0; (at = name.find("\\.")) != std::string::npos;) name.erase(at, 1);
    if (!std::ranges::all_of(name, is_of_name)) {
      refuse(
          concat("'", key, "' holds ", shown(Json(pattern)), "; bp supports only ends of names"));
    }
    numbers.emplace_back(name, number_of(Json(value), concat(key, ".", pattern)));
  }
  return numbers;
}

template <class Number>
nlohmann::ordered_json object_of(const std::vector<std::pair<std::string, Number>>& numbers) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const auto& [name, number] : numbers) object[name] = whole(number);
  return object;
}

}  // namespace

std::string adapter_config_json(const LoraConfig& config) {
  nlohmann::ordered_json json;
  json["auto_mapping"] = nullptr;
  json["base_model_name_or_path"] = config.base;
  json["bias"] = "none";
  json["fan_in_fan_out"] = false;
  json["inference_mode"] = true;
  json["init_lora_weights"] = true;
  json["layers_pattern"] = nullptr;
  json["layers_to_transform"] = nullptr;
  json["lora_alpha"] = whole(config.alpha);
  json["lora_dropout"] = config.dropout;
  json["modules_to_save"] = config.modules_to_save;
  json["peft_type"] = "LORA";
  json["r"] = config.rank;
  json["revision"] = nullptr;
  json["target_modules"] = config.targets;
  if (config.targets == std::vector<std::string>{kAllLinear}) json["target_modules"] = kAllLinear;
  if (!config.target_pattern.empty()) json["target_modules"] = config.target_pattern;
  if (!config.ranks.empty()) json["rank_pattern"] = object_of(config.ranks);
  if (!config.alphas.empty()) json["alpha_pattern"] = object_of(config.alphas);
  if (config.rank_stabilized) json["use_rslora"] = true;
  json["task_type"] = nullptr;
  if (!config.task_type.empty()) json["task_type"] = config.task_type;
  return json.dump(2) + "\n";
}

std::string adapter_base_json(const LoraConfig& config) {
  const nlohmann::ordered_json json = {{"weights", config.base}, {"XXH3-128", config.base_hash}};
  return json.dump(2) + "\n";
}

std::string base_hash_in(const std::string& path) {
  return text(parse_object(read_json_file(FileBytes(path))), "XXH3-128");
}

LoraConfig parse_adapter_config(const std::string& content) {
  const Json json = parse_object(content);
  if (const Json& kind = find(json, "peft_type"); kind != Json("LORA")) {
    refuse(concat("peft_type is ", shown(kind), "; bp supports only 'LORA'"));
  }
  const auto refuse_kind = [&](const char* key) {
    refuse(concat(key, " is ", shown(find(json, key)), "; bp does not support such adapters"));
  };
  for (const char* key : kOtherKinds) {
    if (is_set(json, key)) refuse_kind(key);
  }
  const Json& bias = find(json, "bias");
  if (!bias.is_null() && bias != Json("none")) refuse_kind("bias");
  // Other first weights take something away from the base's.
  const Json& first = find(json, "init_lora_weights");
  if (!first.is_null() && !first.is_boolean() && first != Json("gaussian")) {
    refuse_kind("init_lora_weights");
  }
  LoraConfig config;
  config.rank = rank_in(find(json, "r"), "r");
  config.alpha = number(json, "lora_alpha", config.rank);
  config.dropout = number(json, "lora_dropout", 0);
  config.rank_stabilized = find(json, "use_rslora") == Json(true);
  const auto ordered = nlohmann::ordered_json::parse(content);
  config.ranks = pattern_in(ordered, "rank_pattern", rank_in);
  config.alphas = pattern_in(ordered, "alpha_pattern", number_in);
  read_targets(json, config);
  config.modules_to_save = names(json, "modules_to_save");
  config.task_type = text(json, "task_type");
  config.base = text(json, "base_model_name_or_path");
  return config;
}

LoraConfig read_adapter_config(const std::string& path) {
  return parse_json_file(path, parse_adapter_config);
}

}  // namespace bp::trainer
