// A table for a terminal: the first column is aligned to the left, the others to the right.
#pragma once

#include <string>
#include <vector>

namespace bp::trainer {

using TableRow = std::vector<std::string>;

// Each row becomes a line. Missing cells at the end of a row are empty. A table that is wider than
// `columns` gets a head of two lines. If it is still too wide, its last columns follow in further
// tables, each with the first column. 0: any width.
[[nodiscard]] std::string text_table(const std::vector<TableRow>& rows, int columns = 0);

}  // namespace bp::trainer
