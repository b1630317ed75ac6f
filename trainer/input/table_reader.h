// Reads a CSV (RFC 4180) or TSV file, perhaps compressed, record by record in constant memory.
// Lines may end with LF or CRLF, and in CSV also with a lone CR, as in Python's csv module. Skips
// blank lines, a byte order mark and, in CSV, a first line such as "sep=;", in which Excel names
// the separator.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/input/input_buffer.h"

namespace bp::trainer {

struct Dialect {
  char separator = ',';
  bool quotes = true;   // "a ""word""", and a line break; false: a quote is an ordinary character
  bool header = false;  // the first record is a header, which is not counted as a row
  bool backslash = false;  // in quotes, \" is also a quote and \\ a backslash
  bool same_size = true;   // a record with other than the first one's number of fields is an error
};
inline constexpr Dialect kCsv{};
inline constexpr Dialect kTsv{.separator = '\t', .quotes = false};

class TableReader {
 public:
  // Opens the file. Throws what open_input() throws, and 65 if the first bytes cannot be unpacked.
  TableReader(std::string path, const Dialect& dialect, const std::string& encoding = {});

  // Moves to the next record; returns false at the end. Throws InputError 65 naming row and line
  // for broken quotes, for bytes that are not UTF-8 (naming the byte), for a number of fields that
  // differs from the first record's, and for damaged compression.
  bool next();

  // Returns the fields of the record; valid until next().
  [[nodiscard]] const std::vector<std::string_view>& fields() const { return fields_; }
  [[nodiscard]] std::int64_t row() const { return row_; }  // from 1; 0 is the header
  // Returns the separator that a first line "sep=;" names; the reader itself uses its dialect's.
  [[nodiscard]] std::optional<char> announced_separator() const { return announced_separator_; }
  // Returns "reviews.csv, row 12 (line 15)".
  [[nodiscard]] std::string place() const;

 private:
  struct Span {
    std::size_t begin = 0;  // offsets in in_
    std::size_t end = 0;
    bool escapes = false;  // "" or a backslash, which make_fields() replaces
  };
  enum class Scan : std::uint8_t { record, need_more, end_of_file };

  Scan scan();
  // Reads the field at `at` into spans_ and moves `at` behind it. Returns false, with `at`
  // undefined, if the buffer ends before the field's end is known.
  bool scan_field(std::size_t& at);
  bool scan_quoted(std::size_t& at);
  [[nodiscard]] std::size_t backslashes_before(std::size_t begin, std::size_t at) const;
  bool scan_line_end(std::size_t& at);
  void refill();
  void check_encoding(std::size_t end);
  void skip_byte_order_mark();
  void skip_separator_line();
  void make_fields();
  [[nodiscard]] std::size_t find_field_end(std::size_t at) const;

  std::string path_;
  Dialect dialect_;
  InputBuffer in_;
  std::size_t begin_ = 0;  // offset of the record in in_
  std::size_t next_ = 0;   // offset of the next record
  std::vector<Span> spans_;
  std::vector<std::string_view> fields_;
  std::optional<char> announced_separator_;
  std::size_t columns_ = 0;  // number of fields of the first record; 0 before it
  std::int64_t row_ = 0;
  std::int64_t line_ = 1;  // line at which the record begins
  std::int64_t next_line_ = 1;
};

}  // namespace bp::trainer
