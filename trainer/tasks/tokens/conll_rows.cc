#include "trainer/tasks/tokens/conll_rows.h"

#include <algorithm>

#include "base/text.h"
#include "trainer/data/open_input.h"
#include "trainer/tasks/tokens/token_options.h"
#include "trainer/tasks/tokens/word_list.h"

namespace bp::trainer {

bool is_conll_name(const std::string& path) {
  constexpr std::array kEndings = {".conll", ".bio", ".iob", ".iob2", ".ner", ".txt"};
  const std::string name = unpacked_name(path);
  return std::ranges::any_of(kEndings, [&](const char* ending) { return name.ends_with(ending); });
}

ConllRows::ConllRows(const std::string& path,
                     const std::string& encoding,
                     const ConllColumns& columns)
    : path_(path),
      lines_(path, encoding, {.too_long_hint = "in CoNLL's format, each word has its own line"}),
      sentences_(path, columns) {}

bool ConllRows::next() {
  if (!next_sentence()) return false;
  ++number_;
  words_ = join_words(sentences_.sentence().words);
  tags_ = join_words(sentences_.sentence().tags);
  fields_[kWordsField] = words_;
  fields_[kTagsField] = tags_;
  return true;
}

bool ConllRows::next_sentence() {
  while (lines_.next()) {
    if (sentences_.add(lines_.line())) return true;
  }
  return sentences_.finish();
}

std::string ConllRows::place() const {
  return concat(path_, ", sentence ", number_, " (line ", sentences_.sentence().line, ")");
}

}  // namespace bp::trainer
