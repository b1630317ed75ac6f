// Reads the passages of a file of plain text, which are its rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "trainer/input/line_reader.h"
#include "trainer/input/row_reader.h"

namespace bp::trainer {

// A passage is a number of consecutive lines of one document, joined by blanks. Blank lines
// separate documents. A document that is longer than a passage has several, which end at ends of
// lines.
class PassageReader : public RowReader {
 public:
  // A passage ends with the line that makes it as long as this: a store holds it as one text, and
  // all its samples are in one split. It has some ten samples of 128 tokens.
  static constexpr std::size_t kPassageBytes = 4096;

  // `passage_bytes` 0: each line is a passage of its own. Throws what LineReader throws.
  PassageReader(const std::string& path,
                const std::string& encoding,
                std::size_t passage_bytes = kPassageBytes);

  bool next() override;
  [[nodiscard]] Fields fields() const override { return {&field_, 1}; }
  [[nodiscard]] std::int64_t number() const override { return number_; }
  [[nodiscard]] std::string place() const override;

 private:
  std::string path_;
  LineReader lines_;
  std::size_t passage_bytes_;
  std::string text_;
  std::string_view field_;
  std::int64_t number_ = 0;
  std::int64_t first_line_ = 0;
};

}  // namespace bp::trainer
