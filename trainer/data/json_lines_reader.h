// Reads a JSON lines file (one object a line), perhaps compressed, in constant memory. Lines end
// with LF or CRLF. Skips a byte order mark and blank lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/data/input_buffer.h"
#include "trainer/data/json_field.h"

namespace bp::trainer {

class JsonLinesReader {
 public:
  // Opens the file. For `keys` see JsonField's constructor. Throws what open_input() throws, and 65
  // if the first bytes cannot be unpacked.
  JsonLinesReader(std::string path,
                  const std::vector<std::string>& keys,
                  const std::string& encoding = {});

  // Moves to the next row; returns false at the end. Throws InputError 65 naming row and line for
  // what read_json_object() refuses, for bytes that are not UTF-8 (naming the byte), and for
  // damaged compression.
  bool next();

  // Of the current row and a key, valid until next(): the value, which is empty for null and if the
  // row lacks the key, and whether the row has the key.
  [[nodiscard]] std::string_view value(std::size_t key) const { return fields_[key].value(); }
  [[nodiscard]] bool found(std::size_t key) const { return fields_[key].found(); }
  [[nodiscard]] std::string_view line() const { return line_text_; }
  [[nodiscard]] std::int64_t row() const { return row_; }  // from 1
  // Returns "reviews.jsonl, row 12 (line 15)".
  [[nodiscard]] std::string place() const;

 private:
  bool next_line();
  void refill();

  std::string path_;
  InputBuffer in_;
  std::vector<JsonField> fields_;
  std::size_t next_ = 0;  // offset of the next line in in_
  std::string_view line_text_;
  std::int64_t row_ = 0;
  std::int64_t line_ = 0;
};

}  // namespace bp::trainer
