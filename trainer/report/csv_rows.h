// Reads a CSV file that bert_train wrote, row by row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace bp::trainer {

class CsvRows {
 public:
  // Throws InputError (66) if the file cannot be read.
  explicit CsvRows(const std::string& path);

  // Reads the next row and returns true, or false at the end. Throws InputError (65) with the line
  // if a quote is not closed, or if the row has another number of fields than the first one.
  bool next();
  [[nodiscard]] const std::vector<std::string>& fields() const { return fields_; }
  // Returns a field of the current row that is an id. Throws InputError (65) otherwise.
  [[nodiscard]] std::int64_t id(std::size_t column) const;
  // Throws InputError (65) with the file and the line of the current row.
  [[noreturn]] void refuse(const std::string& what) const;

 private:
  // Returns whether the row continues on the next line.
  bool read_line(const std::string& line, bool inside);

  std::string path_;
  std::ifstream file_;
  std::vector<std::string> fields_;
  std::size_t columns_ = 0;      // of the first row
  std::int64_t first_line_ = 0;  // of the current row
  std::int64_t lines_ = 0;
};

// Returns the column with this name, or the number of columns.
[[nodiscard]] std::size_t column_of(const std::vector<std::string>& header,
                                    const std::string& name);

}  // namespace bp::trainer
