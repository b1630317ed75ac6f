#include <unistd.h>

#include <fstream>
#include <sstream>
#include <unordered_map>

#include "base/refuse.h"
#include "base/regular_file.h"
#include "base/text.h"
#include "base/utf8.h"
#include "bp/error.h"
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

}  // namespace

Vocabulary Vocabulary::read(const std::string& path) {
  if (const OpenedFile opened = open_regular_file(path); !opened.fd) {
    refuse(concat("cannot read the vocabulary ", path, ": ", opened.problem));
  }
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return parse(text.str(), path);
}

Vocabulary Vocabulary::parse(const std::string& text, const std::string& path) {
  const bool is_json = path.ends_with(".json");
  Vocabulary vocabulary =
      is_json ? parse_tokenizer_json(text, path) : Vocabulary{.tokens = lines_of(text)};
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

std::string find_vocabulary(const std::string& folder) {
  for (const char* name : {"/vocab.txt", "/tokenizer.json"}) {
    if (::access((folder + name).c_str(), F_OK) == 0) return folder + name;
  }
  return "";
}

}  // namespace bp::trainer
