// Reads the rows of a data file, one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/input/json_object.h"

namespace bp::trainer {

// A column or JSON key of which a task reads the value of each row.
struct Field {
  std::string name;    // of what it holds: "label"; --label names its column
  std::string column;  // as the user named it: by name, or by number from 1
  // It holds the true answer: a row to score may lack it, and several rows have the same one.
  bool answer = false;
  bool fixed = false;      // no option names its column
  JsonArrays arrays = {};  // as values in JSON lines
};

// The values of a row, in the order of TaskData::fields().
using Fields = std::span<const std::string_view>;

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

// Numbers as a field of a row, for the same process only.
[[nodiscard]] std::string_view field_of(std::span<const std::int32_t> numbers);
// Replaces the content of `numbers` by those of such a field.
void read_numbers(std::string_view field, std::vector<std::int32_t>& numbers);

// The rows of several files, one after the other.
class RowSequence : public RowReader {
 public:
  // Opens a file when its rows are next.
  using Open = std::function<std::unique_ptr<RowReader>()>;

  // `limit`: reads only the first rows of each file; 0: all.
  explicit RowSequence(std::vector<Open> files, std::int64_t limit = 0);

  bool next() override;
  [[nodiscard]] Fields fields() const override { return rows_->fields(); }
  // Rows count on from file to file.
  [[nodiscard]] std::int64_t number() const override {
    return before_ + (rows_ ? rows_->number() : 0);
  }
  [[nodiscard]] std::string place() const override { return rows_->place(); }
  [[nodiscard]] std::size_t file() const { return file_; }  // of the current row

 private:
  std::vector<Open> files_;
  std::int64_t limit_;
  std::size_t file_ = 0;
  std::int64_t before_ = 0;  // rows of earlier files
  std::unique_ptr<RowReader> rows_;
};

}  // namespace bp::trainer
