// A table for a terminal: the first column is aligned to the left, the others to the right.
#pragma once

#include <string>
#include <vector>

namespace bp::trainer {

using TableRow = std::vector<std::string>;

// Each row becomes a line. Missing cells at the end of a row are empty.
[[nodiscard]] std::string text_table(const std::vector<TableRow>& rows);

}  // namespace bp::trainer
