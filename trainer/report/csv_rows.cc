#include "trainer/report/csv_rows.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/input_error.h"
#include "base/text.h"
#include "trainer/common/numbers.h"

namespace bp::trainer {

CsvRows::CsvRows(const std::string& path) : path_(path), file_(path, std::ios::binary) {
  if (!file_) {
    throw InputError(66, concat("cannot read ", path), "name a run's folder or a predictions.csv");
  }
}

bool CsvRows::next() {
  fields_.clear();
  first_line_ = lines_ + 1;
  std::string line;
  for (bool inside = false; std::getline(file_, line); inside = true) {
    ++lines_;
    if (read_line(line, inside)) continue;
    if (columns_ == 0) columns_ = fields_.size();
    if (fields_.size() != columns_) {
      refuse(concat("it has ", fields_.size(), " fields, and the first line has ", columns_));
    }
    return true;
  }
  if (!fields_.empty()) refuse("a quote is not closed");
  return false;
}

bool CsvRows::read_line(const std::string& line, bool inside) {
  if (inside) {
    fields_.back() += '\n';
  } else {
    fields_.emplace_back();
  }
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (inside && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      fields_.back() += '"';
      ++i;
    } else if (c == '"') {
      inside = !inside;
    } else if (c == ',' && !inside) {
      fields_.emplace_back();
    } else if (inside || c != '\r' || i + 1 < line.size()) {
      fields_.back() += c;
    }
  }
  return inside;
}

std::int64_t CsvRows::id(std::size_t column) const {
  const std::string& field = fields_[column];
  const std::optional<double> id = number_of(field);
  constexpr double kLargest = 1LL << 53;
  if (!id || *id < 0 || *id > kLargest || *id != std::trunc(*id)) {
    refuse(concat("'", field, "' is not an id"));
  }
  return static_cast<std::int64_t>(*id);
}

void CsvRows::refuse(const std::string& what) const {
  throw InputError(65, concat(path_, ", line ", first_line_, ": ", what),
                   "report reads the predictions that bert_train wrote as CSV");
}

std::size_t column_of(const std::vector<std::string>& header, const std::string& name) {
  return static_cast<std::size_t>(std::ranges::find(header, name) - header.begin());
}

}  // namespace bp::trainer
