#include <unistd.h>

#include <cstddef>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/refuse.h"
#include "base/system/regular_file.h"
#include "base/text.h"
#include "base/utf8.h"
#include "bp/error.h"
#include "trainer/text/pipeline.h"
#include "trainer/text/roberta_files.h"
#include "trainer/text/tokenizer.h"
#include "trainer/text/tokenizer_json.h"

namespace bp::trainer {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.ends_with('\r')) {
      line.pop_back();
    }
    lines.push_back(line);
  }
  while (!lines.empty() && lines.back().empty()) {
    lines.pop_back();
  }
  return lines;
}

constexpr std::string_view kRobertaVocabulary = "vocab.json";

std::string text_of_file(const std::string& path) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 30;
  FileContent content = read_whole(open_regular_file(path), kMostBytes);
  if (!content.problem.empty()) {
    refuse(concat("cannot read the vocabulary ", path, ": ", content.problem));
  }
  return std::move(content.text);
}

}  // namespace

std::string merges_beside(const std::string& vocabulary) {
  if (!vocabulary.ends_with(kRobertaVocabulary)) return "";
  return vocabulary.substr(0, vocabulary.size() - kRobertaVocabulary.size()) + "merges.txt";
}

Vocabulary Vocabulary::read(const std::string& path) {
  if (!path.ends_with(kRobertaVocabulary)) return parse(text_of_file(path), path);
  const std::string merges = merges_beside(path);
  return parse(roberta_json(text_of_file(path), text_of_file(merges), path), path);
}

Vocabulary Vocabulary::parse(const std::string& text, const std::string& path) {
  if (path.ends_with(".json")) return parse_tokenizer_json(text, path);
  Vocabulary vocabulary{.tokens = lines_of(text)};
  std::unordered_map<std::string_view, std::size_t> line_of;
  std::size_t line = 0;
  for (const std::string& token : vocabulary.tokens) {
    ++line;
    if (find_invalid_utf8(token) != std::string_view::npos) {
      refuse(concat("vocabulary ", path, ", line ", line, ": not UTF-8"));
    }
    const auto [first, is_new] = line_of.emplace(token, line);
    if (!is_new) {
      refuse(concat("vocabulary ", path, ", line ", line, ": '", token, "' is already in line ",
                    first->second));
    }
  }
  for (const char* needed : {"[PAD]", "[UNK]", "[CLS]", "[SEP]"}) {
    if (line_of.count(needed) == 0) {
      refuse(concat("vocabulary ", path, " has no ", needed, ": it is not a BERT vocabulary"));
    }
  }
  return vocabulary;
}

const std::string& Vocabulary::json() const {
  static const std::string kNone;
  return pipeline ? pipeline->json : kNone;
}

std::string find_vocabulary(const std::string& folder) {
  for (const char* name : {"/vocab.txt", "/tokenizer.json", "/vocab.json"}) {
    if (::access((folder + name).c_str(), F_OK) == 0) return folder + name;
  }
  return "";
}

}  // namespace bp::trainer
