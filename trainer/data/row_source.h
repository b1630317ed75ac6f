// The rows of a data file of any format, one after the other.
//
//   RowSource rows = open_source("reviews.csv", inspect_table(question));
//   while (rows.next()) use(rows.fields());
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "trainer/data/json_lines_reader.h"
#include "trainer/data/table.h"
#include "trainer/data/table_reader.h"
#include "trainer/data/task_data.h"

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
  // A field is empty if the file or the row lacks it.
  [[nodiscard]] Fields fields() const { return fields_; }
  [[nodiscard]] std::int64_t number() const;  // from 1
  [[nodiscard]] std::string place() const;    // "a.csv, row 2 (line 3)"

 private:
  [[nodiscard]] bool next_row(TableReader& reader);
  [[nodiscard]] bool next_row(JsonLinesReader& reader);

  TableLayout layout_;
  std::variant<TableReader, JsonLinesReader> reader_;
  std::vector<std::string_view> fields_;
};

// Opens the file `path`, whose layout inspect_table() returned. Throws InputError as the
// constructor of its reader does.
[[nodiscard]] RowSource open_source(const std::string& path, const TableLayout& layout);

}  // namespace bp::trainer
