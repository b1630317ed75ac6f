// Finds the labels of a data set, and what is wrong with them.
#pragma once

#include <memory>

#include "trainer/data/plan.h"
#include "trainer/data/task_data.h"
#include "trainer/tasks/classify/class_input.h"

namespace bp::trainer {

// Its names are the sorted labels of the source to train on, or the model's. It refuses a row
// without a label (only a test file may have some), a label in a dev or test file that is none of
// the training labels or of the model's, a label that is to be rounded and is no number, and a
// column of free text as the labels. Both arguments must outlive it.
[[nodiscard]] std::unique_ptr<RowSurvey> make_class_survey(const Plan& plan,
                                                           const ClassOptions& options);

}  // namespace bp::trainer
