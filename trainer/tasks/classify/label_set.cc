#include "trainer/tasks/classify/label_set.h"

#include <algorithm>

#include "trainer/data/numbers.h"

namespace bp::trainer {

void LabelSet::add(std::string_view label) {
  if (labels_.find(label) == labels_.end()) {
    labels_.emplace(label, number_of(label).has_value());
  }
}

std::vector<std::string> LabelSet::sorted() const {
  std::vector<std::string> sorted;
  bool numbers = true;
  for (const auto& [label, is_number] : labels_) {
    sorted.push_back(label);
    numbers = numbers && is_number;
  }
  if (numbers) {
    std::stable_sort(sorted.begin(), sorted.end(), [](const std::string& a, const std::string& b) {
      return *number_of(a) < *number_of(b);
    });
  }
  return sorted;
}

}  // namespace bp::trainer
