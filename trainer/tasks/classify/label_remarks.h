// Lists the separators of labels, and makes remarks on labels that may be meant otherwise. A remark
// is one line that names the option that helps, or "".
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bp::trainer {

// The values of --label-separator.
[[nodiscard]] const std::vector<std::pair<std::string, char>>& label_separators();

// Of labels that differ by blanks around them, by case, or as spellings of one number: 1 and 1.0.
[[nodiscard]] std::vector<std::string> remarks_on_alike(const std::vector<std::string>& labels);
// Of a label that may stand for a missing one, such as "nan" or "N/A".
[[nodiscard]] std::string remark_on_missing(const std::vector<std::string>& labels);
struct CountedRows {
  std::string answers;  // what holds the labels: "column 2 of reviews.csv"
  std::int64_t rows = 0;
  std::int64_t uses = 0;  // labels of all rows, added up
};
// Of more than a few labels that are numbers with fractions, or of which most occur once, as texts
// do.
[[nodiscard]] std::string remark_on_many(const std::vector<std::string>& labels,
                                         const CountedRows& counted);
// For labels that were found as one label a row. Returns "" unless some of them are others of them
// with a separator between them.
[[nodiscard]] std::string remark_on_joined(const std::vector<std::string>& labels);
// For labels that were found as several labels a row, though no row has more than one.
[[nodiscard]] std::string remark_on_single(const std::vector<std::string>& labels);

}  // namespace bp::trainer
