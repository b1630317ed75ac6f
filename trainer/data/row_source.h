// The rows of a table, one after the other.
//
//   RowSource rows = open_source("reviews.csv", inspect_table(question));
//   while (rows.next()) use(rows.text(), rows.label());
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trainer/data/table.h"
#include "trainer/data/table_reader.h"

namespace bp::trainer {

class RowSource {
 public:
  // See open_source().
  RowSource(const std::string& path, const TableLayout& layout);

  // Moves to the next row and returns true, or false at the end. A header is not a row. Throws
  // InputError (65) with row and line for what TableReader::next() refuses, and 66 if the file
  // cannot be read.
  bool next();

  // Of the current row, valid until next(). Only after next() has returned true.
  [[nodiscard]] std::string_view text() const { return reader_.fields()[layout_.text]; }
  [[nodiscard]] std::string_view label() const { return reader_.fields()[layout_.label]; }
  [[nodiscard]] std::int64_t number() const { return reader_.row(); }  // from 1
  [[nodiscard]] std::string place() const { return reader_.place(); }  // "a.csv, row 2 (line 3)"

 private:
  TableLayout layout_;
  TableReader reader_;
};

// Opens the table `path`, whose layout inspect_table() returned. Throws InputError as TableReader's
// constructor does.
[[nodiscard]] RowSource open_source(const std::string& path, const TableLayout& layout);

}  // namespace bp::trainer
