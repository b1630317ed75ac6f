// The sentences of a file in CoNLL's columns as rows: the words, and their tags, as word_list.h
// joins them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "trainer/data/line_reader.h"
#include "trainer/data/row_reader.h"
#include "trainer/tasks/tokens/conll.h"

namespace bp::trainer {

// Returns whether the name of the file, without that of a compression, ends as one of these files
// does: .conll, .bio, .iob, .iob2, .ner or .txt.
[[nodiscard]] bool is_conll_name(const std::string& path);

class ConllRows : public RowReader {
 public:
  // Throws what LineReader and ConllReader throw.
  ConllRows(const std::string& path, const std::string& encoding, const ConllColumns& columns);

  bool next() override;
  [[nodiscard]] Fields fields() const override { return fields_; }
  [[nodiscard]] std::int64_t number() const override { return number_; }
  // "a.conll, sentence 2 (line 5)"
  [[nodiscard]] std::string place() const override;

 private:
  [[nodiscard]] bool next_sentence();

  std::string path_;
  LineReader lines_;
  ConllReader sentences_;
  std::int64_t number_ = 0;
  std::string words_;
  std::string tags_;
  std::array<std::string_view, 2> fields_;
};

}  // namespace bp::trainer
