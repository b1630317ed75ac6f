#include "trainer/model/files/tokenizer_config.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "base/refuse.h"
#include "base/text.h"
#include "trainer/model/files/json_reading.h"
#include "trainer/text/roberta_files.h"

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

std::string tokenizer_config_json(const TokenizerConfig& config, const Vocabulary& vocabulary) {
  constexpr const char* kKeys[] = {"pad_token", "unk_token", "cls_token", "sep_token",
                                   "mask_token"};
  nlohmann::ordered_json json;
  if (!vocabulary.pipeline) json["do_lower_case"] = config.lower_case;
  if (config.max_length) json["model_max_length"] = *config.max_length;
  json["tokenizer_class"] = vocabulary.pipeline ? "PreTrainedTokenizerFast" : "BertTokenizer";
  const SampleForm form = form_of(vocabulary);
  const std::array ids = {form.pad, form.unknown, form.cls, form.sep, form.mask};
  for (std::size_t i = 0; i < kBertTokens.size(); ++i) {
    const std::int32_t id = ids[i];
    json[kKeys[i]] =
        id < 0 ? std::string(kBertTokens[i]) : vocabulary.tokens.at(static_cast<std::size_t>(id));
  }
  return json.dump(2) + "\n";
}

std::vector<std::pair<std::string, std::string>> tokenizer_files(const Vocabulary& vocabulary,
                                                                 const TokenizerConfig& config) {
  std::vector<std::pair<std::string, std::string>> files = roberta_files(vocabulary.json());
  files.emplace_back("tokenizer_config.json", tokenizer_config_json(config, vocabulary));
  if (vocabulary.pipeline) {
    files.emplace_back("tokenizer.json", vocabulary.json());
    return files;
  }
  std::string lines;
  for (const std::string& token : vocabulary.tokens) lines += token + "\n";
  files.emplace_back("vocab.txt", lines);
  return files;
}

}  // namespace bp::trainer
