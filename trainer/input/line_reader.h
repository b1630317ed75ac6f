// Reads a text file line by line, perhaps compressed, in constant memory. Lines end with LF or
// CRLF. Skips a byte order mark.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "trainer/input/input_buffer.h"

namespace bp::trainer {

struct LineNames {
  // Returns where a line is, for messages: "reviews.jsonl, row 12 (line 15)". Empty: "a.txt, line
  // 15".
  std::function<std::string(std::int64_t line)> place = {};
  // What to do about a line that is too long.
  std::string too_long_hint = "is it a text file with line breaks?";
};

class LineReader {
 public:
  // Opens the file. Throws what open_input() throws, and 65 if the first bytes cannot be unpacked.
  LineReader(std::string path, const std::string& encoding, LineNames names = {});
  // Reads `input`, which messages call `path`.
  LineReader(std::string path, std::unique_ptr<ByteInput> input, LineNames names = {});

  // Moves to the next line; returns false at the end. Throws InputError 65 naming the line for
  // bytes that are not UTF-8 (a BadRow, naming the byte), for damaged compression, and for a line
  // that is longer than InputBuffer::kLongestRow.
  bool next();

  // The current line without its end, valid until next().
  [[nodiscard]] std::string_view line() const { return text_; }
  [[nodiscard]] std::int64_t number() const { return line_; }  // from 1
  [[nodiscard]] std::string place() const { return names_.place(line_); }

 private:
  void refill();

  std::string path_;
  LineNames names_;
  InputBuffer in_;
  std::size_t next_ = 0;  // offset of the next line in in_
  std::string_view text_;
  std::int64_t line_ = 0;
};

}  // namespace bp::trainer
