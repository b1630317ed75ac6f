// The beginning of a table, and the separator that it is written with.
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
  std::exception_ptr error;  // why the rows end early; null when they do not
};
[[nodiscard]] FirstRows read_first_rows(const std::string& path, const Dialect& dialect);

// The separator of a CSV file: what a first line "sep=;" names; else the one of kUsualSeparators
// with which the first row `holds_columns` (has those that were asked for) and the others have as
// many fields; a comma in doubt. `by_name`: a row that holds the columns is a header, and proof
// enough. Throws InputError: what TableReader throws for a file that is no text, and 2 naming the
// candidates when several fit and a comma does not.
[[nodiscard]] char find_separator(const std::string& path,
                                  bool by_name,
                                  const std::function<bool(const TableRow&)>& holds_columns);

}  // namespace bp::trainer
