#include "trainer/text/roberta_files.h"

#include <cstddef>
#include <sstream>

#include <nlohmann/json.hpp>

#include "base/refuse.h"
#include "base/text.h"
#include "base/utf8.h"
#include "trainer/text/json_place.h"

namespace bp::trainer {
namespace {

using Json = nlohmann::json;

Json added_tokens(const Json& ids, const std::string& path) {
  Json added = Json::array();
  for (const std::string_view name : kRobertaTokens) {
    const std::string token(name);
    if (!ids.is_object() || !ids.contains(token)) refuse(concat(path, " has no ", token));
    added.push_back({{"id", ids[token]},
                     {"content", token},
                     {"single_word", false},
                     {"lstrip", token == "<mask>"},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  }
  return added;
}

// `merges`: texts, or lists of two.
std::string json_of(const Json& ids, const Json& added, const Json& merges) {
  const Json byte_level = {{"type", "ByteLevel"},
                           {"add_prefix_space", false},
                           {"trim_offsets", true},
                           {"use_regex", true}};
  return Json{{"version", "1.0"},
              {"truncation", nullptr},
              {"padding", nullptr},
              {"added_tokens", added},
              {"normalizer", nullptr},
              {"pre_tokenizer", byte_level},
              {"post_processor",
               {{"type", "RobertaProcessing"},
                {"sep", {"</s>", ids["</s>"]}},
                {"cls", {"<s>", ids["<s>"]}},
                {"trim_offsets", true},
                {"add_prefix_space", false}}},
              {"decoder", byte_level},
              {"model",
               {{"type", "BPE"},
                {"dropout", nullptr},
                {"unk_token", nullptr},
                {"continuing_subword_prefix", ""},
                {"end_of_word_suffix", ""},
                {"fuse_unk", false},
                {"byte_fallback", false},
                {"ignore_merges", false},
                {"vocab", ids},
                {"merges", merges}}}}
      .dump();
}

std::string line_of(const Json& merge) {
  if (merge.is_string()) return merge.get<std::string>() + "\n";
  return concat(merge.at(0).get<std::string>(), " ", merge.at(1).get<std::string>(), "\n");
}

}  // namespace

std::string roberta_json(const std::string& vocabulary,
                         const std::string& merges,
                         const std::string& path) {
  const Json ids = parse_json(vocabulary, path);
  const Json added = added_tokens(ids, path);
  if (find_invalid_utf8(merges) != std::string_view::npos) {
    refuse(concat("the merges of ", path, " are not UTF-8"));
  }
  Json pairs = Json::array();
  std::istringstream lines(merges);
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty() && !line.starts_with("#version")) pairs.push_back(line);
  }
  return json_of(ids, added, pairs);
}

std::string roberta_json(const std::vector<std::string>& tokens,
                         const std::vector<std::pair<std::string, std::string>>& merges) {
  Json ids = Json::object();
  for (std::size_t id = 0; id < tokens.size(); ++id) ids[tokens[id]] = id;
  Json pairs = Json::array();
  for (const auto& [first, second] : merges) pairs.push_back(Json::array({first, second}));
  return json_of(ids, added_tokens(ids, "the vocabulary"), pairs);
}

std::vector<std::pair<std::string, std::string>> roberta_files(const std::string& json) {
  if (json.empty()) return {};
  Json file = Json::parse(json);
  Json& model = file["model"];
  if (file["post_processor"]["type"] != "RobertaProcessing" || model["type"] != "BPE") return {};
  for (const Json& token : file["added_tokens"]) {
    model["vocab"][token.at("content").get<std::string>()] = token.at("id");
  }
  std::string merges = "#version: 0.2\n";
  for (const Json& merge : model["merges"]) merges += line_of(merge);
  return {{"vocab.json", model["vocab"].dump()}, {"merges.txt", std::move(merges)}};
}

}  // namespace bp::trainer
