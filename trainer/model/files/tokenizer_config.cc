#include "trainer/model/files/tokenizer_config.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "base/refuse.h"
#include "base/text.h"
#include "trainer/model/files/json_reading.h"

namespace bp::trainer {
namespace {

// The classes whose vocab.txt bp's tokenizer can use. The last two do not say how they tokenize.
constexpr std::array<std::string_view, 6> kClasses = {
    "BertTokenizer",           "BertTokenizerFast",       "DistilBertTokenizer",
    "DistilBertTokenizerFast", "PreTrainedTokenizerFast", "TokenizersBackend"};

bool flag(const Json& json, const char* key, bool otherwise) {
  const Json& found = find(json, key);
  if (found.is_null()) return otherwise;
  if (!found.is_boolean()) refuse(concat("'", key, "' is ", shown(found), ", not true or false"));
  return found.get<bool>();
}

void require(const Json& json, const char* key, bool only) {
  if (flag(json, key, only) == only) return;
  refuse(concat(key, " is ", only ? "false" : "true", "; bp's tokenizer supports only ",
                only ? "true" : "false"));
}

// Refuses what makes other tokens of a text.
void read_steps(const Json& json, TokenizerConfig& config) {
  const Json& kind = find(json, "tokenizer_class");
  const bool known =
      kind.is_null() || (kind.is_string() && std::find(kClasses.begin(), kClasses.end(),
                                                       kind.get<std::string>()) != kClasses.end());
  if (!known) {
    refuse(concat("tokenizer_class is ", shown(kind), "; bp supports only 'BertTokenizer'"));
  }
  config.lower_case = flag(json, "do_lower_case", true);
  require(json, "strip_accents", config.lower_case);
  require(json, "tokenize_chinese_chars", true);
  require(json, "do_basic_tokenize", true);
}

void add_names(const SpecialNames& names, nlohmann::ordered_json& json) {
  json["pad_token"] = names.pad;
  json["unk_token"] = names.unknown;
  json["cls_token"] = names.cls;
  json["sep_token"] = names.sep;
  json["mask_token"] = names.mask;
}

}  // namespace

TokenizerConfig parse_tokenizer_config(const std::string& text, Decides decides) {
  const Json json = parse_object(text);
  TokenizerConfig config;
  if (decides == Decides::this_file) read_steps(json, config);
  // transformers writes 10^30 if there is no bound.
  const Json& length = find(json, "model_max_length");
  if (!length.is_null() && !(length.is_number() && length.get<double>() >= 3)) {
    refuse(concat("model_max_length is ", shown(length), "; it must be a number of 3 or more"));
  }
  if (!length.is_null() && length.get<double>() <= std::numeric_limits<int>::max()) {
    config.max_length = static_cast<int>(length.get<double>());
  }
  return config;
}

TokenizerConfig read_tokenizer_config(const std::string& path, Decides decides) {
  return parse_json_file(
      path, [&](const std::string& text) { return parse_tokenizer_config(text, decides); });
}

std::string tokenizer_config_json(const TokenizerConfig& config) {
  nlohmann::ordered_json json;
  json["do_lower_case"] = config.lower_case;
  if (config.max_length) json["model_max_length"] = *config.max_length;
  json["tokenizer_class"] = "BertTokenizer";
  add_names({}, json);
  return json.dump(2) + "\n";
}

std::string tokenizer_config_json(const TokenizerConfig& config, const SpecialNames& names) {
  nlohmann::ordered_json json;
  if (config.max_length) json["model_max_length"] = *config.max_length;
  json["tokenizer_class"] = "PreTrainedTokenizerFast";
  add_names(names, json);
  return json.dump(2) + "\n";
}

}  // namespace bp::trainer
