// The beginning of a table.
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "trainer/data/table_reader.h"

namespace bp::trainer {

using TableRow = std::vector<std::string>;

struct FirstRows {
  std::vector<TableRow> rows;
  std::exception_ptr error;  // of the broken row before which the rows end; null if none is broken
};
// Reads at most 1000 rows, and none after the first broken one. Throws what the constructor of
// TableReader throws.
[[nodiscard]] FirstRows read_first_rows(const std::string& path,
                                        const Dialect& dialect,
                                        const std::string& encoding);

}  // namespace bp::trainer
