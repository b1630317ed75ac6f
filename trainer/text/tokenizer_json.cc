#include "trainer/text/tokenizer_json.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/quoted.h"
#include "base/refuse.h"
#include "base/text.h"
#include "bp/error.h"

namespace bp::trainer {
namespace {

using Json = nlohmann::json;

// Reads values of the file. A key is shown with those above it: "normalizer.lowercase".
class TokenizerJson {
 public:
  TokenizerJson(const std::string& text, const std::string& path) : path_(path) {
    constexpr int kMostLevels = 20;
    try {
      json_ = Json::parse(text, [&](int depth, Json::parse_event_t /*event*/, Json& /*value*/) {
        if (depth > kMostLevels) no("it is nested too deeply");
        return true;
      });
    } catch (const Json::exception& error) {
      no(concat("it is broken JSON: ", printable(error.what())));
    }
  }

  [[noreturn]] void no(const std::string& why) const { refuse(concat(path_, ": ", why)); }

  // Null if it is absent.
  [[nodiscard]] const Json& at(std::string_view keys) const {
    static const Json kNull;
    const Json* value = &json_;
    while (!keys.empty()) {
      const std::size_t point = std::min(keys.find('.'), keys.size());
      const auto found = value->find(std::string(keys.substr(0, point)));
      if (!value->is_object() || found == value->end()) return kNull;
      value = &*found;
      keys.remove_prefix(std::min(point + 1, keys.size()));
    }
    return *value;
  }
  void require(const char* keys, const Json& only) const {
    const Json& value = at(keys);
    if (value == only) return;
    no(concat(keys, " is ", value.is_structured() ? "a list or an object" : printable(value.dump()),
              "; bp's tokenizer has only ", only.dump()));
  }
  [[nodiscard]] bool flag(const char* keys) const {
    const Json& value = at(keys);
    if (!value.is_boolean()) no(concat(keys, " is not true or false"));
    return value.get<bool>();
  }

 private:
  const std::string& path_;
  Json json_;
};

std::string in_quotes(const std::string& token) { return concat("'", quoted_line(token), "'"); }

Json part(const char* kind, const char* id, int type) {
  return {{kind, {{"id", id}, {"type_id", type}}}};
}

void require_bert_steps(const TokenizerJson& file) {
  file.require("model.type", "WordPiece");
  file.require("model.unk_token", "[UNK]");
  file.require("model.continuing_subword_prefix", "##");
  file.require("model.max_input_chars_per_word", 100);
  file.require("normalizer.type", "BertNormalizer");
  file.require("normalizer.clean_text", true);
  file.require("normalizer.handle_chinese_chars", true);
  if (!file.at("normalizer.strip_accents").is_null()) {
    file.require("normalizer.strip_accents", file.flag("normalizer.lowercase"));
  }
  file.require("pre_tokenizer.type", "BertPreTokenizer");
  if (file.at("post_processor.type") == "BertProcessing") {
    file.require("post_processor.sep", {"[SEP]", file.at("model.vocab.[SEP]")});
    file.require("post_processor.cls", {"[CLS]", file.at("model.vocab.[CLS]")});
    return;
  }
  file.require("post_processor.type", "TemplateProcessing");
  Json single = {part("SpecialToken", "[CLS]", 0), part("Sequence", "A", 0),
                 part("SpecialToken", "[SEP]", 0)};
  file.require("post_processor.single", single);
  single.push_back(part("Sequence", "B", 1));
  single.push_back(part("SpecialToken", "[SEP]", 1));
  file.require("post_processor.pair", single);
}

std::vector<std::string> tokens_of(const TokenizerJson& file) {
  const Json& vocabulary = file.at("model.vocab");
  if (!vocabulary.is_object()) file.no("model.vocab is not an object");
  std::vector<std::string> tokens(vocabulary.size());
  for (const auto& [token, id] : vocabulary.items()) {
    if (token.empty() || token.find_first_of("\r\n") != std::string::npos) {
      file.no(concat("model.vocab: ", in_quotes(token), " cannot be a line of a vocab.txt"));
    }
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= tokens.size() ||
        !tokens[id.get<std::size_t>()].empty()) {
      file.no(concat("model.vocab: the id of ", in_quotes(token), " is ", printable(id.dump()),
                     "; the ids must be the numbers from 0 to ", tokens.size() - 1));
    }
    tokens[id.get<std::size_t>()] = token;
  }
  return tokens;
}

// A token that is cut out of the text before all other steps.
void require_known(const TokenizerJson& file, const Json& added) {
  constexpr std::array kKnown = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  const Json content = added.is_object() ? added.value("content", Json()) : Json();
  if (std::ranges::find(kKnown, content) == kKnown.end()) {
    file.no(concat("added_tokens: bp's tokenizer has no ", printable(content.dump())));
  }
  if (added.value("id", Json()) != file.at(concat("model.vocab.", content.get<std::string>()))) {
    file.no(concat("added_tokens: ", content.dump(), " has another id than in model.vocab"));
  }
  for (const char* key : {"single_word", "lstrip", "rstrip", "normalized"}) {
    if (added.value(key, Json(false)) == false) continue;
    file.no(concat("added_tokens: ", key, " of ", content.dump(), " is not false"));
  }
}

}  // namespace

Vocabulary parse_tokenizer_json(const std::string& text, const std::string& path) {
  const TokenizerJson file(text, path);
  require_bert_steps(file);
  Vocabulary vocabulary{.tokens = tokens_of(file), .lower_case = file.flag("normalizer.lowercase")};
  for (const Json& added : file.at("added_tokens")) require_known(file, added);
  return vocabulary;
}

}  // namespace bp::trainer
