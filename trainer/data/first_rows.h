// Reads the first rows of a table, and finds its separator.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "trainer/data/table_reader.h"

namespace bp::trainer {

using TableRow = std::vector<std::string>;

// At most 1000 rows, up to the first broken one.
struct FirstRows {
  std::vector<TableRow> rows;
  std::exception_ptr error;  // why the rows end early; null if they do not
};
[[nodiscard]] FirstRows read_first_rows(const std::string& path, const Dialect& dialect);

// Returns the separator of a CSV file. A first line "sep=;" decides. Otherwise it is the one of
// kUsualSeparators with which `holds_columns` accepts the first row (it has the requested columns)
// and the other rows have the same number of fields; a comma in doubt. With `by_name`, a first row
// with the requested columns is a header and proves the comma by itself. Throws InputError: what
// TableReader throws for a file that is not text, and 2 naming the candidates if several fit and a
// comma does not.
[[nodiscard]] char find_separator(const std::string& path,
                                  bool by_name,
                                  const std::function<bool(const TableRow&)>& holds_columns);

}  // namespace bp::trainer
