// Finds the labels of a data set, and what is wrong with them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trainer/data/plan.h"
#include "trainer/data/task_data.h"
#include "trainer/tasks/classify/class_input.h"

namespace bp::trainer {

// Its names are the classes that are given (see LabelNaming), else the sorted labels of the source
// to train on. It refuses a row without a label (only a test file may have some), and a column of
// free text as the labels. It leaves out or refuses, as the options say, a row whose label is none
// of the names, or is to be rounded and is no number. All arguments must outlive it.
[[nodiscard]] std::unique_ptr<RowFinder> make_class_finder(const Plan& plan,
                                                           const ClassOptions& options,
                                                           Findings& found);

// See TaskData::nothing_to_learn().
[[nodiscard]] Obstacle no_labels_to_learn(const std::vector<std::string>& names,
                                          const ClassOptions& options);

}  // namespace bp::trainer
