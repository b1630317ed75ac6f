// Reads a CSV (RFC 4180) or TSV file record by record in constant memory. Line ends may be LF or
// CRLF (in CSV also a lone CR, as Python's csv has it); blank lines are skipped, and so are a byte
// order mark and, in CSV, a first line such as "sep=;", by which Excel names the separator.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"

namespace bp::trainer {

struct Dialect {
  char separator = ',';
  bool quotes = true;   // "a ""word"", and a line break"; false: a quote is a character like others
  bool header = false;  // whether the first record is one, and so is not counted as a row
};
inline constexpr Dialect kCsv{};
inline constexpr Dialect kTsv{.separator = '\t', .quotes = false};

class TableReader {
 public:
  // Throws InputError: 66 when the file cannot be read or is no regular file, 65 when it is a known
  // format other than text in UTF-8 (see file_kind.h). Never waits for another process.
  TableReader(std::string path, const Dialect& dialect);

  // Moves to the next record; false at the end. Throws InputError 65 naming row and line: broken
  // quotes, not UTF-8 (with the byte), another number of fields than the first record has.
  bool next();

  // Valid until next().
  [[nodiscard]] const std::vector<std::string_view>& fields() const { return fields_; }
  [[nodiscard]] std::int64_t row() const { return row_; }  // from 1; 0 is the header
  // The separator that a first line "sep=;" names; the reader itself goes by its dialect.
  [[nodiscard]] std::optional<char> announced_separator() const { return announced_separator_; }
  // "reviews.csv, row 12 (line 15)"
  [[nodiscard]] std::string place() const;

 private:
  struct Span {
    std::size_t begin = 0;  // in buffer_
    std::size_t end = 0;
    bool doubled_quotes = false;
  };
  enum class Scan : std::uint8_t { record, need_more, end_of_file };

  Scan scan();
  // Reads the field at `at` into spans_; false when the buffer ends before it can be known where
  // the field does. `at` is then of no meaning.
  bool scan_field(std::size_t& at);
  bool scan_quoted(std::size_t& at);
  bool scan_line_end(std::size_t& at);
  void refill();
  void check_encoding(std::size_t end);
  void skip_byte_order_mark();
  void skip_separator_line();
  void make_fields();
  [[nodiscard]] std::size_t find_field_end(std::size_t at) const;

  std::string path_;
  Dialect dialect_;
  Fd fd_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;    // of the record, in buffer_
  std::size_t next_ = 0;     // of the record after it
  std::size_t filled_ = 0;   // bytes in buffer_
  std::int64_t offset_ = 0;  // of buffer_[0] in the file
  bool at_end_ = false;      // nothing is left to read
  std::vector<Span> spans_;
  std::vector<std::string_view> fields_;
  std::optional<char> announced_separator_;
  std::size_t columns_ = 0;  // of the first record; 0 before it
  std::int64_t row_ = 0;
  std::int64_t line_ = 1;  // at which the record begins
  std::int64_t next_line_ = 1;
};

}  // namespace bp::trainer
