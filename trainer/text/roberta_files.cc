#include "trainer/text/roberta_files.h"

#include <cstddef>
#include <sstream>

#include "base/refuse.h"
#include "base/text.h"
#include "base/utf8.h"
#include "trainer/text/json_place.h"

namespace bp::trainer {
namespace {

// The tokenizer.json without tokens and merges.
constexpr const char* kSteps = R"({
  "version": "1.0",
  "truncation": null,
  "padding": null,
  "normalizer": null,
  "pre_tokenizer": {
    "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true
  },
  "post_processor": {
    "type": "RobertaProcessing", "trim_offsets": true, "add_prefix_space": false
  },
  "decoder": {
    "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true
  },
  "model": {
    "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": "",
    "end_of_word_suffix": "", "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
    "merges": []
  }
})";

// Returns the tokenizer.json without merges. `path` is for messages.
Json json_of(Json ids, const std::string& path) {
  Json file = Json::parse(kSteps);
  for (const std::string_view name : kRobertaTokens) {
    const std::string token(name);
    if (!ids.is_object() || !ids.contains(token)) refuse(concat(path, " has no ", token));
    file["added_tokens"].push_back({{"id", ids[token]},
                                    {"content", token},
                                    {"single_word", false},
                                    {"lstrip", token == "<mask>"},
                                    {"rstrip", false},
                                    {"normalized", false},
                                    {"special", true}});
  }
  file["post_processor"]["cls"] = {"<s>", ids["<s>"]};
  file["post_processor"]["sep"] = {"</s>", ids["</s>"]};
  file["model"]["vocab"] = std::move(ids);
  return file;
}

std::string line_of(const Json& merge) {
  if (merge.is_string()) return merge.get<std::string>() + "\n";
  return concat(merge.at(0).get<std::string>(), " ", merge.at(1).get<std::string>(), "\n");
}

}  // namespace

std::string roberta_json(const std::string& vocabulary,
                         const std::string& merges,
                         const std::string& path) {
  Json file = json_of(parse_json(vocabulary, path), path);
  if (find_invalid_utf8(merges) != std::string_view::npos) {
    refuse(concat("the merges of ", path, " are not UTF-8"));
  }
  Json& pairs = file["model"]["merges"];
  std::istringstream lines(merges);
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty() && !line.starts_with("#version")) pairs.push_back(line);
  }
  return file.dump();
}

std::string roberta_json(const std::vector<std::string>& tokens,
                         const std::vector<std::pair<std::string, std::string>>& merges) {
  Json ids = Json::object();
  for (std::size_t id = 0; id < tokens.size(); ++id) ids[tokens[id]] = id;
  Json file = json_of(std::move(ids), "the vocabulary");
  file["model"]["merges"] = merges;
  return file.dump();
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
