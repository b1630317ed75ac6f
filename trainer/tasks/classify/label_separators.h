// Lists the separators of the labels of a row, and remarks on labels that suggest another one.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace bp::trainer {

// The values of --label-separator.
[[nodiscard]] const std::vector<std::pair<std::string, char>>& label_separators();

// For labels that were found as one label a row. Returns "" unless some of them are others of them
// with a separator between them.
[[nodiscard]] std::string remark_on_joined(const std::vector<std::string>& labels);
// For labels that were found as several labels a row, though no row has more than one.
[[nodiscard]] std::string remark_on_single(const std::vector<std::string>& labels);

}  // namespace bp::trainer
