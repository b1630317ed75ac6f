// Reads a JSON lines file (one object a line), perhaps compressed, in constant memory. Lines end
// with LF or CRLF. Skips a byte order mark and blank lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/input/json_object.h"
#include "trainer/input/line_reader.h"

namespace bp::trainer {

struct TableQuestion;

class JsonLinesReader {
 public:
  // Opens the file. For `keys` see JsonField's constructor. Throws what open_input() throws, and 65
  // if the first bytes cannot be unpacked.
  JsonLinesReader(const std::string& path,
                  const std::vector<std::string>& keys,
                  const std::string& encoding = {});
  // Reads `input`, which messages call `path`.
  JsonLinesReader(std::string path,
                  const std::vector<std::string>& keys,
                  std::unique_ptr<ByteInput> input);

  // Says what becomes of an array as the value of a key. Without this call it is refused.
  void read_arrays(std::size_t key, const JsonArrays& arrays) { fields_[key].read_arrays(arrays); }

  // Moves to the next row; returns false at the end. Throws InputError 65 naming row and line: a
  // BadRow for what read_json_object() refuses and for bytes that are not UTF-8 (naming the byte),
  // and another for damaged compression.
  bool next();

  // Of the current row and a key, valid until next(): the value, which is empty for null and if the
  // row lacks the key, and whether the row has the key.
  [[nodiscard]] std::string_view value(std::size_t key) const { return fields_[key].value(); }
  [[nodiscard]] bool found(std::size_t key) const { return fields_[key].found(); }
  [[nodiscard]] std::string_view line() const { return lines_.line(); }
  [[nodiscard]] std::int64_t row() const { return row_; }  // from 1
  // Returns "reviews.jsonl, row 12 (line 15)".
  [[nodiscard]] std::string place() const;

 private:
  std::string path_;
  std::vector<JsonField> fields_;
  std::int64_t row_ = 0;
  LineReader lines_;
};

// Returns the key of each field of a JSON lines file, which must have it. Reads at most 1000 rows.
// Throws InputError as inspect_table() does.
[[nodiscard]] std::vector<std::string> find_json_keys(const TableQuestion& question);

}  // namespace bp::trainer
