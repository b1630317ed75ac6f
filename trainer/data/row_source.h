// The rows of a data file of any format, one after the other.
//
//   RowSource rows = open_source("reviews.csv", inspect_table(question));
//   while (rows.next()) use(rows.text(), rows.label());
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "trainer/data/json_lines_reader.h"
#include "trainer/data/table.h"
#include "trainer/data/table_reader.h"

namespace bp::trainer {

class RowSource {
 public:
  // See open_source().
  RowSource(const std::string& path, const TableLayout& layout);
  RowSource(const RowSource&) = delete;
  RowSource& operator=(const RowSource&) = delete;
  ~RowSource() = default;

  // Moves to the next row and returns true, or false at the end. A header is not a row. Throws
  // InputError (65) with row and line for what the reader of the format refuses, and 66 if the file
  // cannot be read.
  bool next();

  // Of the current row, valid until next(). Only after next() has returned true.
  [[nodiscard]] std::string_view text() const { return text_; }
  [[nodiscard]] std::string_view label() const { return label_; }
  [[nodiscard]] std::int64_t number() const;  // from 1
  [[nodiscard]] std::string place() const;    // "a.csv, row 2 (line 3)"

 private:
  [[nodiscard]] bool next_row(TableReader& reader);
  [[nodiscard]] bool next_row(JsonLinesReader& reader);

  TableLayout layout_;
  std::variant<TableReader, JsonLinesReader> reader_;
  std::string_view text_;
  std::string_view label_;
};

// Opens the file `path`, whose layout inspect_table() returned. Throws InputError as the
// constructor of its reader does.
[[nodiscard]] RowSource open_source(const std::string& path, const TableLayout& layout);

}  // namespace bp::trainer
