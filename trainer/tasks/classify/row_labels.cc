#include "trainer/tasks/classify/row_labels.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "trainer/data/numbers.h"

namespace bp::trainer {

bool RowLabels::read(std::string_view written) {
  names_.clear();
  if (!options_.multi_label) return add(written);
  for (bool more = true; more;) {
    const std::size_t end = written.find(options_.label_separator);
    more = end != std::string_view::npos;
    if (!add(without_blanks(written.substr(0, end)))) return false;
    if (more) written.remove_prefix(end + 1);
  }
  std::ranges::sort(names_);
  const auto repeated = std::ranges::unique(names_);
  names_.erase(repeated.begin(), repeated.end());
  return true;
}

bool RowLabels::add(std::string_view label) {
  std::optional<std::string> name = naming_.name_of(label);
  if (!name) refused_ = label;
  if (name && !name->empty()) names_.push_back(std::move(*name));
  return name.has_value();
}

std::string_view RowLabels::stratum() {
  if (names_.size() == 1) return names_.front();
  stratum_ = joined_labels(names_, options_.label_separator);
  return stratum_;
}

std::string joined_labels(const std::vector<std::string>& names, char separator) {
  std::string joined;
  for (const std::string& name : names) {
    if (!joined.empty()) joined += separator;
    joined += name;
  }
  return joined;
}

}  // namespace bp::trainer
