// The section of report.html with the scores of each class.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/report/section.h"
#include "trainer/tasks/classify/class_scores.h"

namespace bp::trainer {

struct ClassSection {
  std::string heading = {};
  std::vector<std::string> labels = {};
  std::vector<ClassScores> classes = {};
  std::vector<std::pair<std::string, ClassScores>> means = {};  // below the classes, by name
};

// Of many classes it shows those with the lowest F1.
[[nodiscard]] Section class_section(const ClassSection& classes);

// Returns the label, cut if it is long; "#3" for an index without a name.
[[nodiscard]] std::string label_name(const std::vector<std::string>& labels, int index);

}  // namespace bp::trainer
