// Reads the rows of a data file, one after the other.
#pragma once

#include <cstdint>
#include <string>

#include "trainer/data/task_data.h"

namespace bp::trainer {

class RowReader {
 public:
  RowReader() = default;
  RowReader(const RowReader&) = delete;
  RowReader& operator=(const RowReader&) = delete;
  virtual ~RowReader() = default;

  // Moves to the next row and returns true, or false at the end. A header is not a row. Throws
  // InputError (65) with the place for what the reader of the format refuses, and 66 if the file
  // cannot be read. After a BadRow, number() is that of the bad row, and the next call moves on.
  virtual bool next() = 0;

  // Of the current row, valid until next(). Only after next() has returned true. A field is empty
  // if the file or the row lacks it.
  [[nodiscard]] virtual Fields fields() const = 0;
  [[nodiscard]] virtual std::int64_t number() const = 0;  // from 1; 0 before the first
  [[nodiscard]] virtual std::string place() const = 0;    // "a.csv, row 2 (line 3)"
};

}  // namespace bp::trainer
